//! Which clients CLIENT LIST shows and CLIENT KILL closes.

use crate::host::{ClientKind, ClientView};
use crate::redis::error::{CommandError, quoted};

/// Holds for a client if every given condition does.
#[derive(Debug, Default)]
pub(crate) struct ClientFilter<'a> {
    pub ids: Vec<u64>,
    pub addr: Option<&'a [u8]>,
    pub laddr: Option<&'a [u8]>,
    pub user: Option<&'a [u8]>,
    pub kind: Option<ClientKind>,
}

impl ClientFilter<'_> {
    pub fn holds(&self, client: &ClientView<'_>) -> bool {
        (self.ids.is_empty() || self.ids.contains(&client.id))
            && self.addr.is_none_or(|addr| addr == client.addr.as_bytes())
            && self.laddr.is_none_or(|laddr| laddr == client.laddr.as_bytes())
            && self.user.is_none_or(|user| user == client.user)
            && self.kind.is_none_or(|kind| kind == client.kind)
    }
}

pub(crate) fn kind(word: &[u8]) -> Result<ClientKind, CommandError> {
    match word.to_ascii_lowercase().as_slice() {
        b"normal" => Ok(ClientKind::Normal),
        b"pubsub" => Ok(ClientKind::PubSub),
        b"master" => Ok(ClientKind::Master),
        b"replica" | b"slave" => Ok(ClientKind::Replica),
        _ => Err(CommandError::quoting(&[b"Unknown client type '", quoted(word), b"'"])),
    }
}
