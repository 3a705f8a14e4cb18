//! `dolium lab qos`: a bound that anybody keeps is kept, one that nobody keeps is not, and both are said.

use std::process::{Command, Output};

const DOLIUM: &str = env!("CARGO_BIN_EXE_dolium");

/// A search that takes seconds, of the null server.
fn search(words: &[&str]) -> Output {
    let quick = ["--stores", "null", "--rounds", "1", "--warm-up", "20", "--keys", "100"];
    let steps = ["--steps", "1", "--conns", "4"];
    Command::new(DOLIUM).args(["lab", "qos"]).args(quick).args(steps).args(words).output().unwrap()
}

/// What stands in the null server's row.
fn row(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    let table = String::from_utf8(output.stdout.clone()).unwrap();
    let row = table.lines().find(|line| line.starts_with("null"));
    row.unwrap_or_else(|| panic!("no row in {table}")).to_owned()
}

#[test]
fn a_rate_that_keeps_its_bound_is_told_with_its_percentiles() {
    // One slice of a length that does not fit into the warm-up: beside its window it would not count.
    let output = search(&["--window", "100", "--slice", "100", "--p99", "500000"]);
    let row = row(&output);
    let cells: Vec<f64> = row
        .split("  ")
        .filter(|cell| !cell.is_empty())
        .skip(1)
        .map_while(|cell| cell.replace(' ', "").parse().ok())
        .collect();
    let [rate, p99_us, all_p99_us, closed, ratio] = cells[..] else { panic!("{row}") };
    assert!(rate > 0.0 && closed > 0.0, "{row}");
    assert!(p99_us > 0.0 && p99_us < 500_000.0 && all_p99_us > 0.0, "{row}");
    assert_eq!(ratio, 1.0, "{row}");
}

#[test]
fn a_bound_that_no_reply_keeps_is_not_said_to_be_kept() {
    let row = row(&search(&["--window", "100", "--slice", "20", "--p99", "0.001"]));
    assert!(row.contains("no rate that was tried kept the bound"), "{row}");
}

#[test]
fn a_slice_that_does_not_fit_into_its_window_is_refused_before_anything_starts() {
    for slice in ["0", "101"] {
        let output = search(&["--window", "100", "--slice", slice]);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(told.contains("a slice takes at least a millisecond"), "{told}");
        assert!(!told.contains("starting"), "{told}");
    }
}
