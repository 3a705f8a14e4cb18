//! The lab alone, without the rest of the `dolium` binary: `cargo run --example lab -- compare`.

use std::process::ExitCode;

fn main() -> ExitCode {
    // Servers that the lab starts are this program again, called as `dolium lab null ...` is.
    let args = std::env::args_os().skip(1).skip_while(|word| word == "lab");
    dolium_lab::cli::run(args)
}
