//! A tour that is killed cannot clear up. Its server ends all the same.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// It stayed, with its ports and its memory, until somebody found it.
#[test]
fn a_killed_tour_leaves_no_server() {
    let mut tour = Command::new(env!("CARGO_BIN_EXE_dolium"))
        .arg("tour")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(tour.stdout.take().unwrap());
    let server = loop {
        let mut line = String::new();
        assert!(lines.read_line(&mut line).unwrap() > 0, "the tour ended early");
        if let Some((_, rest)) = line.split_once("runs as process ") {
            break rest.split(',').next().unwrap().to_owned();
        }
    };
    tour.kill().unwrap();
    tour.wait().unwrap();
    // Where nobody asks after it when it has ended, it stays as a process of that state.
    let status = std::path::Path::new("/proc").join(&server).join("status");
    let has_ended = || {
        let status = std::fs::read_to_string(&status);
        status.map_or(true, |text| text.lines().any(|line| line.starts_with("State:\tZ")))
    };
    let begun = Instant::now();
    while !has_ended() {
        assert!(begun.elapsed() < Duration::from_secs(20), "process {server} is still there");
        std::thread::sleep(Duration::from_millis(20));
    }
    let folder = std::env::temp_dir().join(format!("dolium-tour-{}", tour.id()));
    // Nobody is left who could take it away.
    std::fs::remove_dir_all(folder).unwrap();
}
