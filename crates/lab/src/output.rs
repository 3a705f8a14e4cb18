//! What the lab writes to its standard output and to its standard error.
//!
//! Rust's own macros end the program with an abort where they cannot write, and with it what was measured
//! and is not on the disk yet. A reader may go away when he has seen enough (`dolium lab list | head`), a
//! terminal may be closed: neither is a reason to end a measurement.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write};

use crate::LabError;

/// Writes a text to the standard output, at once. That nobody reads on is no error.
pub fn print(text: impl Display) -> Result<(), LabError> {
    // Made before the lock is taken: what it says may take a while to be found.
    let text = text.to_string();
    print_with(|| io::stdout().lock().write_all(text.as_bytes()))
}

/// The same of what is written by somebody else's function.
pub fn print_with(write: impl FnOnce() -> io::Result<()>) -> Result<(), LabError> {
    match write().and_then(|()| io::stdout().lock().flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(LabError::system("write to the standard output", error))
        }
        _ => Ok(()),
    }
}

/// A line on the standard error. Where that cannot be written to, there is nobody to tell.
pub fn note(line: impl Display) {
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}

/// A number with so many digits behind the point; a dash where there is none.
pub fn number(value: f64, digits: usize) -> String {
    if value.is_finite() { format!("{value:.digits$}") } else { "-".into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_number_is_a_dash() {
        assert_eq!(number(1.0 / 3.0, 2), "0.33");
        assert_eq!([f64::NAN, f64::INFINITY].map(|value| number(value, 3)), ["-", "-"]);
    }
}
