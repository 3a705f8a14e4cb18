//! What item a store will make, as far as its line says: large values are received into it.
//!
//! A guess that the store itself does not rely on. With `append` and `prepend` there is nothing to
//! foresee: the item has more bytes than the request brings.

use super::KEY_BUFFER;
use dolium_engine::Form;
use dolium_protocol::memcache::binary::Operation;
use dolium_protocol::memcache::text::{Command, StoreVerb};
use dolium_protocol::memcache::{Announced, Request, binary};

/// Key and form of the item of a text or meta request. `None`: it makes none of this value alone.
pub fn item<R>(announced: &Announced<'_>, visit: impl FnOnce(&[u8], &Form) -> R) -> Option<R> {
    let len = announced.len;
    match announced.request {
        Request::Text(Command::Store { verb, key, flags, exptime, .. }) => {
            let is_extension = matches!(verb, StoreVerb::Append | StoreVerb::Prepend);
            let form = Form { len, has_deadline: exptime != 0, has_extension: flags != 0 };
            (!is_extension).then(|| visit(key, &form))
        }
        Request::Meta(command) => {
            let is_extension = matches!(command.flags.mode, b'A' | b'P');
            let has_deadline = command.flags.exptime != 0;
            let form = Form { len, has_deadline, has_extension: true };
            let mut buffer = KEY_BUFFER;
            (!is_extension).then(|| visit(command.key.bytes(&mut buffer), &form))
        }
        _ => None,
    }
}

/// The same of a binary request; `has_unique`: items have unique numbers (no `-C`).
pub fn binary_item<R>(
    announced: &binary::Announced<'_>,
    has_unique: bool,
    visit: impl FnOnce(&[u8], &Form) -> R,
) -> Option<R> {
    let request = &announced.request;
    let (Operation::Set { flags, exptime }
    | Operation::Add { flags, exptime }
    | Operation::Replace { flags, exptime }) = request.operation
    else {
        return None;
    };
    let has_extension = has_unique && !request.quiet || flags != 0;
    let form = Form { len: announced.len, has_deadline: exptime != 0, has_extension };
    Some(visit(request.key, &form))
}
