//! The `dolium` binary: which subcommand is meant, and nothing else.

mod attach;
mod heap;
mod lab;
mod lab_attached;
mod memcached;
mod output;
mod serve;
mod supervisor;
mod tour;

use clap::{Parser, Subcommand};
use std::ffi::OsString;
use std::process::ExitCode;

#[derive(Parser)]
#[command(
    name = "dolium",
    version,
    about = "One memory on one machine, for Redis and Memcached clients, the web and local programs.",
    max_term_width = 100,
    after_help = "Without a subcommand, dolium serves: dolium --port 7000 is dolium serve --port 7000, and \
                  dolium my.conf is dolium serve my.conf; dolium serve --help says how directives are \
                  written.\n\
                  DOLIUM_PASSWORD is the password for set, exec and get where commands need one."
)]
struct Command {
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(Subcommand)]
enum What {
    /// Serve clients (the default).
    Serve(serve::Arguments),
    /// Serve Memcached clients, with Memcached's own command line
    #[command(disable_help_flag = true)]
    Memcached {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<String>,
    },
    /// Read a key from a server's memory, without asking the server
    Get(attach::GetArguments),
    /// Write a key
    Set(attach::SetArguments),
    /// Have a server execute any command
    Exec(attach::ExecArguments),
    /// Watch what a server does, without asking it
    Top(attach::top::Arguments),
    /// Verify what can be reached in a server's memory
    Check(attach::check::Arguments),
    /// A minute's guided tour: every door to one memory, with times
    Tour,
    /// One attached process of an experiment; the lab starts it
    #[command(hide = true)]
    LabAttached { task: String },
    /// Experiments that measure Dolium and its peers on this machine
    #[command(disable_help_flag = true)]
    Lab {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<OsString>,
    },
}

fn main() -> ExitCode {
    // As they are: keys, values and paths need not be text.
    let mut words: Vec<OsString> = std::env::args_os().collect();
    if words.get(1).is_some_and(|word| serve::is_directive(word) || serve::is_file(word)) {
        words.insert(1, "serve".into());
    }
    // These two have a help of their own, of which only they themselves know.
    let is_for_own_help = words.get(1).is_some_and(|word| word == "help")
        && words.get(2).is_some_and(|word| word == "lab" || word == "memcached");
    if is_for_own_help {
        words.remove(1);
        words.truncate(2);
        words.push("--help".into());
    }
    // Behind a directive it would be taken for another one, and none is called help.
    let is_for_serve = words.get(1).is_some_and(|word| word == "serve");
    if is_for_serve && words.iter().any(|word| word == "--help") {
        words.truncate(2);
        words.push("--help".into());
    }
    let command = match Command::try_parse_from(words) {
        Ok(command) => command,
        Err(refused) if refused.use_stderr() => refused.exit(),
        // What was asked for: the help or the version.
        Err(told) => return output::finish_with(|| told.print()),
    };
    match command.what {
        None => serve::run(&serve::Arguments::default()),
        Some(What::Serve(arguments)) => serve::run(&arguments),
        Some(What::Memcached { words }) => memcached::run(&words),
        Some(What::Get(arguments)) => attach::get(&arguments),
        Some(What::Set(arguments)) => attach::set(&arguments),
        Some(What::Exec(arguments)) => attach::exec(&arguments),
        Some(What::Top(arguments)) => attach::top::run(&arguments),
        Some(What::Check(arguments)) => attach::check::run(&arguments),
        Some(What::Tour) => tour::run(),
        Some(What::LabAttached { task }) => lab_attached::run(&task),
        Some(What::Lab { words }) => lab::run(words.into_iter()),
    }
}
