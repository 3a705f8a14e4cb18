//! What the program writes to its standard output and to its standard error.
//!
//! Rust's own macros end the program with an abort where they cannot write. But a reader may go away when
//! it has seen enough (`dolium top | head`), which is no failure of ours, and a disk may be full, which is
//! one to tell of in a sentence.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

/// Whether anybody reads on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    Listens,
    HasGone,
}

/// Writes bytes to the standard output, at once. An error is a sentence.
pub fn write(bytes: &[u8]) -> Result<Reader, String> {
    let mut out = std::io::stdout().lock();
    what_became_of(out.write_all(bytes).and_then(|()| out.flush()))
}

fn what_became_of(written: io::Result<()>) -> Result<Reader, String> {
    match written {
        Ok(()) => Ok(Reader::Listens),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(Reader::HasGone),
        Err(error) => Err(format!("the standard output cannot be written to: {error}")),
    }
}

/// The same, as the last that a program does.
pub fn finish(bytes: &[u8]) -> ExitCode {
    match write(bytes) {
        Ok(_) => ExitCode::SUCCESS,
        Err(text) => fail(&text),
    }
}

/// The same of what is written by somebody else's function.
pub fn finish_with(write: impl FnOnce() -> io::Result<()>) -> ExitCode {
    match what_became_of(write().and_then(|()| io::stdout().lock().flush())) {
        Ok(_) => ExitCode::SUCCESS,
        Err(text) => fail(&text),
    }
}

/// A line on the standard error. Where that cannot be written to either, there is nobody to tell.
pub fn note(line: impl Display) {
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}

/// Why the program has failed.
pub fn fail(text: &str) -> ExitCode {
    note(format_args!("dolium: {text}"));
    ExitCode::FAILURE
}
