//! A reader that goes away takes no measured result with it: outputs that nobody reads end no lab in the
//! middle, and what was measured is in the files.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, ExitStatus};

const DOLIUM: &str = env!("CARGO_BIN_EXE_dolium");

/// Runs the lab with a standard output, and a standard error, whose reader has gone.
fn unheard(words: &[&str]) -> ExitStatus {
    let mut command = Command::new(DOLIUM);
    command.arg("lab").args(words);
    let (reader, output) = std::io::pipe().unwrap();
    drop(reader);
    command.stderr(output.try_clone().unwrap()).stdout(output).status().unwrap()
}

/// A place of this test's own.
fn place(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("dolium-unheard-{}-{name}", std::process::id()))
}

#[test]
fn a_list_that_nobody_reads_to_its_end_is_no_failure() {
    assert!(unheard(&["list"]).success());
    assert!(unheard(&["list", "--show", "ycsb-a"]).success());
    // What fails fails as it would before a reader: by a status, and not by an abort.
    assert_eq!(unheard(&["list", "--show", "nothing"]).code(), Some(1));
}

#[test]
fn an_experiment_whose_outputs_nobody_reads_is_measured_and_kept() {
    let out = place("run");
    let (into, quick) = (out.display().to_string(), ["--seconds", "0.1", "--repetitions", "2"]);
    let words = [&["run", "limit-null", "--stores", "null", "--quick", "--out", &into], &quick[..]];
    let status = unheard(&words.concat());
    assert!(status.success(), "{status}");
    let kept = fs::read_to_string(out.join("limit-null.json")).unwrap();
    assert!(kept.contains("\"interrupted\":false") && kept.contains("\"server_us\""), "{kept}");
    assert!(out.join("index.html").exists());
    let _ = fs::remove_dir_all(&out);
}

#[test]
fn a_table_that_nobody_reads_is_in_its_file() {
    let file = place("table.json");
    let json = file.display().to_string();
    let turns = ["--rounds", "1", "--window", "50", "--keys", "1000", "--pipelines", "1"];
    let compare = [&["compare", "--stores", "null", "--ops", "get"], &turns[..]].concat();
    let all: [&[&str]; 3] = [&["misses", "--items", "1000"], &["returns"], &compare];
    for words in all {
        let status = unheard(&[words, &["--json", &json]].concat());
        assert!(status.success(), "{words:?}: {status}");
        let kept = fs::read_to_string(&file).unwrap_or_default();
        assert!(kept.trim_end().ends_with(['}', ']']), "{words:?}: {kept}");
        let _ = fs::remove_file(&file);
    }
}
