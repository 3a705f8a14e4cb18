//! Counting: what passed, what failed and what was left out, for one suite and for the whole run.

use std::time::Duration;

const REASON_LINES: usize = 40;
const REASON_COLUMNS: usize = 400;

/// One test that failed, or one suite that could not run at all.
pub struct Failure {
    pub name: String,
    pub reason: String,
}

#[derive(Default)]
pub struct Tally {
    pub passed: usize,
    pub skipped: usize,
    pub failures: Vec<Failure>,
}

impl Tally {
    pub fn pass(&mut self) {
        self.passed += 1;
    }

    pub fn fail(&mut self, name: impl Into<String>, reason: impl Into<String>) {
        self.failures.push(Failure { name: name.into(), reason: reason.into() });
    }

    /// Counts one check by its outcome.
    pub fn check(&mut self, name: impl Into<String>, outcome: crate::Result<()>) {
        match outcome {
            Ok(()) => self.pass(),
            Err(reason) => self.fail(name, reason),
        }
    }

    pub fn add(&mut self, other: Tally) {
        self.passed += other.passed;
        self.skipped += other.skipped;
        self.failures.extend(other.failures);
    }

    /// `12 passed, 0 failed, 3 skipped`
    pub fn line(&self) -> String {
        let mut line = format!("{} passed, {} failed", self.passed, self.failures.len());
        if self.skipped > 0 {
            line.push_str(&format!(", {} skipped", self.skipped));
        }
        line
    }
}

/// A suite's name, counts and time, for the summary at the end.
pub struct Timed {
    pub suite: String,
    pub tally: Tally,
    pub time: Duration,
}

impl Timed {
    /// What a suite says when it is over. Its failures come here already: whoever stops the run before
    /// its end has seen them.
    pub fn print(&self) {
        self.print_failures();
        println!("   {}", self.tally.line());
    }

    fn print_failures(&self) {
        for failure in &self.tally.failures {
            println!("FAILED {}: {}\n    {}", self.suite, failure.name, indented(&failure.reason));
        }
    }
}

/// Prints every failure again, a line per suite, and last the plain line that counts everything.
pub fn summarise(suites: Vec<Timed>) -> crate::Result<()> {
    let mut total = Tally::default();
    println!();
    suites.iter().for_each(Timed::print_failures);
    for suite in suites {
        let seconds = suite.time.as_secs_f32();
        println!("{:<12} {:>7.1} s  {}", suite.suite, seconds, suite.tally.line());
        total.add(suite.tally);
    }
    println!("{}", total.line());
    if total.failures.is_empty() { Ok(()) } else { Err("some tests failed".to_string()) }
}

/// The reason under its failure, with overlong lines cut: some tests print a value of megabytes.
fn indented(text: &str) -> String {
    let lines = text.trim_end().lines().take(REASON_LINES);
    let lines = lines.map(|line| match line.char_indices().nth(REASON_COLUMNS) {
        Some((end, _)) => format!("{} ...", &line[..end]),
        None => line.to_string(),
    });
    lines.collect::<Vec<_>>().join("\n    ")
}
