//! The `dolium` binary: which subcommand is meant, and nothing else.

mod serve;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// The server's buffers and tables live on this heap; data live in the arena.
#[global_allocator]
static HEAP: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[derive(Parser)]
#[command(
    name = "dolium",
    version,
    about = "One memory on one machine, for Redis and Memcached clients, the web and local programs.",
    after_help = "Without a subcommand, dolium serves: dolium --port 7000 is dolium serve --port 7000."
)]
struct Command {
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(Subcommand)]
enum What {
    /// Serve clients (the default).
    Serve(serve::Arguments),
}

fn main() -> ExitCode {
    let mut words: Vec<String> = std::env::args().collect();
    if words.get(1).is_some_and(|word| serve::is_directive(word)) {
        words.insert(1, "serve".into());
    }
    match Command::parse_from(words).what {
        None => serve::run(&serve::Arguments::default()),
        Some(What::Serve(arguments)) => serve::run(&arguments),
    }
}
