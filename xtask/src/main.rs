//! The project's chores, as `cargo xtask CHORE`. Each chore is a module; this file only routes to
//! them and turns their result into an exit code.

mod children;
mod ci;
mod commands;
mod install;
mod paths;
mod peers;
mod servers;
mod spec;
mod stacks;
mod suites;
mod tally;
mod tidy;

use std::process::ExitCode;

const USAGE: &str = "\
cargo xtask test [--against dolium|peers] [rust|spec|redis-suite|memcached-suite|clients|client-suites|memcapable|lab-page|fuzz|models|models-ring|tidy|miri]...
                  run the named suites, or all of them but miri; installs what they need
cargo xtask tidy   crate edges, file headers, banned calls, the list of decisions, leftovers
cargo xtask ci     formatting, clippy, then every suite: what a merge must pass
cargo xtask peers  fetch the test suites of Redis and Memcached into target/peers";

/// What a chore answers: a sentence to print when it failed.
pub type Result<T> = std::result::Result<T, String>;

fn main() -> ExitCode {
    children::adopt_orphans();
    children::stop_all_on_signal();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        words if asks_for_help(words) => {
            println!("{USAGE}");
            Ok(())
        }
        ["test", rest @ ..] => suites::run(rest),
        ["tidy"] => suites::run(&["tidy"]),
        ["ci"] => ci::run(),
        ["peers"] => peers::fetch().map(|_| ()),
        _ => Err(USAGE.to_string()),
    };
    children::stop_all();
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

fn asks_for_help(words: &[&str]) -> bool {
    words.first() == Some(&"help") || words.iter().any(|word| ["-h", "--help"].contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Who asked for help had failed, and was answered on the standard error.
    #[test]
    fn help_is_asked_for_in_three_ways_and_for_each_chore() {
        for words in [&["help"][..], &["-h"], &["--help"], &["test", "--help"], &["tidy", "-h"]] {
            assert!(asks_for_help(words), "{words:?}");
        }
        for words in [&[][..], &["test", "spec"], &["frob"]] {
            assert!(!asks_for_help(words), "{words:?}");
        }
    }
}
