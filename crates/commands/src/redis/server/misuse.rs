//! Subcommands that were given more than they take.
//!
//! Their rows allow for any number of arguments, as Redis' do, so they see for themselves that
//! there are too many, and refuse with a sentence that all containers share.

use crate::redis::error::{CommandError, quoted};
use crate::redis::row::Call;

/// Names the subcommand as the client wrote it.
pub(crate) fn refused(call: &Call<'_>) -> CommandError {
    let container = call.row.name.split('|').next().unwrap_or_default();
    CommandError::quoting(&[
        b"unknown subcommand or wrong number of arguments for '",
        quoted(call.args.arg(1)),
        b"'. Try ",
        container.to_uppercase().as_bytes(),
        b" HELP.",
    ])
}
