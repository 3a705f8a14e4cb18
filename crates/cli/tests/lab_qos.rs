//! `dolium lab qos`: a bound that anybody keeps is kept, one that nobody keeps is not, and both are said.

use std::process::{Command, Output};

const DOLIUM: &str = env!("CARGO_BIN_EXE_dolium");

/// A search that takes seconds, of the null server.
fn search(words: &[&str]) -> Output {
    let quick = ["--stores", "null", "--rounds", "3", "--warm-up", "20", "--window", "100"];
    let small = ["--steps", "1", "--conns", "4", "--keys", "100"];
    Command::new(DOLIUM).args(["lab", "qos"]).args(quick).args(small).args(words).output().unwrap()
}

/// What stands in the null server's row.
fn row(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    let table = String::from_utf8(output.stdout.clone()).unwrap();
    let row = table.lines().find(|line| line.starts_with("null"));
    row.unwrap_or_else(|| panic!("no row in {table}")).to_owned()
}

#[test]
fn a_rate_that_keeps_its_bound_is_told_with_its_percentiles_and_how_often_it_was_kept() {
    let row = row(&search(&["--p99", "50000"]));
    let cells: Vec<&str> =
        row.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).skip(1).collect();
    let [rate, p99_us, windows, all_p99_us, closed, ratio, ..] = cells[..] else { panic!("{row}") };
    let number = |cell: &str| cell.replace(' ', "").parse::<f64>().unwrap();
    assert!(number(rate) > 0.0 && number(closed) > 0.0, "{row}");
    assert!((0.0..50_000.0).contains(&number(p99_us)) && number(all_p99_us) > 0.0, "{row}");
    // Two of three windows are most of them: a third is asked for only where one was not kept.
    assert!(["2/2", "2/3"].contains(&windows), "{row}");
    assert_eq!(number(ratio), 1.0, "{row}");
}

#[test]
fn a_bound_that_no_reply_keeps_is_not_said_to_be_kept() {
    let row = row(&search(&["--p99", "0.001"]));
    assert!(row.contains("no rate that was tried kept the bound"), "{row}");
}
