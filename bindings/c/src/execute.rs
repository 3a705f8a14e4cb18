//! Every other command, through the ring to the server, and its reply.

use crate::error::{dolium_status, note};
use crate::pointers::{all, commands, dolium_bytes, dolium_command};
use crate::store::dolium_store;
use dolium_attach::{Error, Value};

/// What a reply is.
#[allow(non_camel_case_types)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum dolium_reply_kind {
    /// No value.
    DOLIUM_REPLY_NULL = 0,
    /// A short text such as OK: dolium_reply_bytes.
    DOLIUM_REPLY_STATUS = 1,
    /// The server refused the command: dolium_reply_bytes says why.
    DOLIUM_REPLY_ERROR = 2,
    /// dolium_reply_integer.
    DOLIUM_REPLY_INTEGER = 3,
    /// dolium_reply_bytes.
    DOLIUM_REPLY_BYTES = 4,
    /// dolium_reply_count and dolium_reply_at.
    DOLIUM_REPLY_ARRAY = 5,
}

/// The reply to a command.
#[allow(non_camel_case_types)]
#[derive(Debug)]
pub struct dolium_reply {
    kind: dolium_reply_kind,
    bytes: Vec<u8>,
    integer: i64,
    elements: Vec<dolium_reply>,
}

impl From<Value> for dolium_reply {
    fn from(value: Value) -> dolium_reply {
        use dolium_reply_kind::*;
        let with = |kind, bytes| dolium_reply { kind, bytes, integer: 0, elements: Vec::new() };
        let list = |values: Vec<Value>| dolium_reply {
            elements: values.into_iter().map(dolium_reply::from).collect(),
            ..with(DOLIUM_REPLY_ARRAY, Vec::new())
        };
        let number = |integer| dolium_reply { integer, ..with(DOLIUM_REPLY_INTEGER, Vec::new()) };
        match value {
            Value::Null => with(DOLIUM_REPLY_NULL, Vec::new()),
            Value::Simple(text) => with(DOLIUM_REPLY_STATUS, text),
            Value::Error(text) => with(DOLIUM_REPLY_ERROR, text),
            Value::Int(n) => number(n),
            Value::Bool(truth) => number(i64::from(truth)),
            Value::Bulk(bytes) | Value::BigNumber(bytes) | Value::Verbatim(_, bytes) => {
                with(DOLIUM_REPLY_BYTES, bytes)
            }
            Value::Double(n) => with(DOLIUM_REPLY_BYTES, n.to_string().into_bytes()),
            Value::Array(values) | Value::Set(values) | Value::Push(values) => list(values),
            Value::Map(pairs) => list(pairs.into_iter().flat_map(|(k, v)| [k, v]).collect()),
            Value::Attributed(_, value) => (*value).into(),
        }
    }
}

/// Has the server execute a command: `count` words, such as SET, key, value. With DOLIUM_OK `*reply`
/// is its reply, which may itself be an error; it has to be freed. Otherwise `*reply` is NULL.
/// It runs in the database of `store`. Another one is chosen by dolium_db; SELECT is DOLIUM_ERROR, except
/// within MULTI, where it is of the commands up to EXEC.
/// In a child that was forked after attaching it fails: attach again there. It waits for the server
/// however long that takes, unless dolium_set_timeout says otherwise.
///
/// # Safety
/// `store` must be live, `words` point to `count` pieces of readable bytes, and `reply` to a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dolium_execute(
    store: *const dolium_store,
    words: *const dolium_bytes,
    count: usize,
    reply: *mut *mut dolium_reply,
) -> dolium_status {
    if reply.is_null() {
        return note(&"dolium_execute needs a place for the reply");
    }
    // Callers free what they find there, whatever is returned.
    // SAFETY: a pointer of the caller's, as promised.
    unsafe { reply.write(std::ptr::null_mut()) };
    // SAFETY: a live store as the caller promises.
    let Some(store) = (unsafe { store.as_ref() }) else { return note(&"the store is NULL") };
    // SAFETY: pieces as the caller promises.
    let words = match unsafe { all(words, count) } {
        Ok(words) => words,
        Err(error) => return note(&error),
    };
    let words: Vec<&[u8]> = words.iter().map(AsRef::as_ref).collect();
    if words.is_empty() {
        return note(&"a command has at least one word");
    }
    // SAFETY: a pointer of the caller's, as promised.
    unsafe { hand_over(store.store.execute(&words), reply) }
}

/// Has the server execute `count` commands, each of which is sent before those before it are answered:
/// the faster way to write much. With DOLIUM_OK `*reply` is an array of their replies in the same order,
/// as dolium_execute would have them; it has to be freed as one. Otherwise `*reply` is NULL.
/// It is no transaction; MULTI and EXEC among them make one. A command without words, or one that is not
/// answered once (SUBSCRIBE, BLPOP), is refused before any is sent; after another error it is not known which
/// have been executed. The limit of dolium_set_timeout is of all together.
///
/// # Safety
/// As for dolium_execute, and `commands` must point to `count` of them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dolium_execute_many(
    store: *const dolium_store,
    commands: *const dolium_command,
    count: usize,
    reply: *mut *mut dolium_reply,
) -> dolium_status {
    if reply.is_null() {
        return note(&"dolium_execute_many needs a place for the replies");
    }
    // Callers free what they find there, whatever is returned.
    // SAFETY: a pointer of the caller's, as promised.
    unsafe { reply.write(std::ptr::null_mut()) };
    // SAFETY: a live store as the caller promises.
    let Some(store) = (unsafe { store.as_ref() }) else { return note(&"the store is NULL") };
    // SAFETY: commands as the caller promises.
    let commands = match unsafe { self::commands(commands, count) } {
        Ok(commands) => commands,
        Err(error) => return note(&error),
    };
    if commands.iter().any(Vec::is_empty) {
        return note(&"a command has at least one word");
    }
    // SAFETY: a pointer of the caller's, as promised.
    unsafe { hand_over(store.store.execute_many(&commands).map(Value::Array), reply) }
}

/// # Safety
/// `reply` must point to a pointer.
unsafe fn hand_over(outcome: Result<Value, Error>, reply: *mut *mut dolium_reply) -> dolium_status {
    match outcome {
        Ok(value) => {
            let made = Box::into_raw(Box::new(dolium_reply::from(value)));
            // SAFETY: a pointer of the caller's, as promised.
            unsafe { reply.write(made) };
            dolium_status::DOLIUM_OK
        }
        Err(error) => note(&error),
    }
}

/// What a reply is. NULL is a reply that is none.
///
/// # Safety
/// `reply` must be NULL or not have been freed; the same below.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dolium_reply_kind_of(reply: *const dolium_reply) -> dolium_reply_kind {
    // SAFETY: a live reply as the caller promises.
    unsafe { reply.as_ref() }.map_or(dolium_reply_kind::DOLIUM_REPLY_NULL, |reply| reply.kind)
}

/// The number of an integer reply, else 0.
///
/// # Safety
/// See dolium_reply_kind_of.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dolium_reply_integer(reply: *const dolium_reply) -> i64 {
    // SAFETY: a live reply as the caller promises.
    unsafe { reply.as_ref() }.map_or(0, |reply| reply.integer)
}

/// The bytes of a status, an error or a string, there until the reply is freed.
///
/// # Safety
/// See dolium_reply_kind_of.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dolium_reply_bytes(reply: *const dolium_reply) -> dolium_bytes {
    // SAFETY: a live reply as the caller promises.
    let bytes = unsafe { reply.as_ref() }.map_or(&[][..], |reply| &reply.bytes);
    dolium_bytes { data: bytes.as_ptr(), length: bytes.len() }
}

/// How many elements an array has.
///
/// # Safety
/// See dolium_reply_kind_of.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dolium_reply_count(reply: *const dolium_reply) -> usize {
    // SAFETY: a live reply as the caller promises.
    unsafe { reply.as_ref() }.map_or(0, |reply| reply.elements.len())
}

/// An element of an array, or NULL beyond its end. It goes with the array.
///
/// # Safety
/// See dolium_reply_kind_of.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dolium_reply_at(
    reply: *const dolium_reply,
    number: usize,
) -> *const dolium_reply {
    // SAFETY: a live reply as the caller promises.
    let reply = unsafe { reply.as_ref() };
    reply.and_then(|reply| reply.elements.get(number)).map_or(std::ptr::null(), |r| r)
}

/// Gives a reply back. NULL is allowed.
///
/// # Safety
/// `reply` must be NULL or come from dolium_execute or dolium_execute_many (not dolium_reply_at), once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dolium_reply_free(reply: *mut dolium_reply) {
    if !reply.is_null() {
        // SAFETY: made by `hand_over`, and given back once, as the caller promises.
        drop(unsafe { Box::from_raw(reply) });
    }
}
