//! Reads: straight from the server's memory.

use crate::error::{dolium_status, note};
use crate::pointers::{all, bytes, dolium_bytes, overlap, room};
use crate::store::dolium_store;
use dolium_attach::{Kind, Ttl};
use std::ffi::{c_char, c_void};

/// dolium_ttl: there is no such key.
pub const DOLIUM_TTL_NO_KEY: i64 = -2;
/// dolium_ttl: the key does not expire.
pub const DOLIUM_TTL_NEVER: i64 = -1;
/// dolium_ttl: see dolium_error_message().
pub const DOLIUM_TTL_ERROR: i64 = -3;

/// Receives the value of the key of a number, or NULL if there is no such key or it holds no string
/// (dolium_type tells which). The bytes are there until it returns.
#[allow(non_camel_case_types)]
pub type dolium_value_visitor =
    Option<extern "C" fn(context: *mut c_void, number: usize, value: *const u8, length: usize)>;

/// Receives a key. The bytes are there until it returns.
#[allow(non_camel_case_types)]
pub type dolium_key_visitor =
    Option<extern "C" fn(context: *mut c_void, key: *const u8, length: usize)>;

/// Copies the value of a key to `buffer`, which has room for `capacity` bytes, and its length to
/// `length`. DOLIUM_TOO_SMALL tells the length of a value that does not fit. Unless DOLIUM_OK is
/// returned, and behind the value, what the buffer holds afterwards is not specified: it is copied
/// while others may write, and again if they did. Key and buffer may overlap. A key that holds no string
/// is an error.
///
/// # Safety
/// `store` must be live, `key` point to `key_length` bytes, `buffer` to `capacity` writable bytes
/// (or be NULL if that is 0), and `length` to a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dolium_get(
    store: *const dolium_store,
    key: *const u8,
    key_length: usize,
    buffer: *mut u8,
    capacity: usize,
    length: *mut usize,
) -> dolium_status {
    // SAFETY: a live store as the caller promises.
    let Some(store) = (unsafe { store.as_ref() }) else { return note(&"the store is NULL") };
    if length.is_null() {
        return note(&"dolium_get needs a place for the length");
    }
    // No room is what a program has whose malloc failed.
    let capacity = if buffer.is_null() { 0 } else { capacity };
    let value = if overlap(key, key_length, buffer, capacity) {
        // SAFETY: bytes as the caller promises, which end with this expression.
        let key = match unsafe { bytes(key, key_length) } {
            Ok(key) => key.to_vec(),
            Err(error) => return note(&error),
        };
        // SAFETY: room as the caller promises; the key lies elsewhere now.
        store.store.get_to(&key, unsafe { room(buffer, capacity) })
    } else {
        // SAFETY: bytes as the caller promises.
        let key = match unsafe { bytes(key, key_length) } {
            Ok(key) => key,
            Err(error) => return note(&error),
        };
        // SAFETY: room as the caller promises, which has nothing in common with the key.
        store.store.get_to(key, unsafe { room(buffer, capacity) })
    };
    let value_length = match value {
        Ok(Some(value_length)) => value_length,
        Ok(None) => return dolium_status::DOLIUM_NO_KEY,
        Err(error) => return note(&error),
    };
    // SAFETY: a number of the caller's, as promised.
    unsafe { length.write(value_length) };
    if value_length <= capacity {
        dolium_status::DOLIUM_OK
    } else {
        dolium_status::DOLIUM_TOO_SMALL
    }
}

/// Reads several keys in batches, which is several times faster than one after another, and hands
/// each value to `visit` in order. After DOLIUM_ERROR the keys before the one that could not be read
/// have been visited, and no others; none at all if one of them is NULL and has a length.
///
/// # Safety
/// `store` must be live, and `keys` point to `count` pieces of readable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dolium_get_many(
    store: *const dolium_store,
    keys: *const dolium_bytes,
    count: usize,
    visit: dolium_value_visitor,
    context: *mut c_void,
) -> dolium_status {
    // SAFETY: a live store as the caller promises.
    let Some(store) = (unsafe { store.as_ref() }) else { return note(&"the store is NULL") };
    let Some(visit) = visit else { return note(&"dolium_get_many needs a function to call") };
    // SAFETY: pieces as the caller promises.
    let keys = match unsafe { all(keys, count) } {
        Ok(keys) => keys,
        Err(error) => return note(&error),
    };
    let read = store.store.get_many_with(keys, |number, value| {
        let data = value.map_or(std::ptr::null(), <[u8]>::as_ptr);
        visit(context, number, data, value.map_or(0, <[u8]>::len));
    });
    read.map_or_else(|error| note(&error), |()| dolium_status::DOLIUM_OK)
}

/// DOLIUM_OK or DOLIUM_NO_KEY.
///
/// # Safety
/// `store` must be live, and `key` point to `key_length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dolium_exists(
    store: *const dolium_store,
    key: *const u8,
    key_length: usize,
) -> dolium_status {
    // SAFETY: a live store as the caller promises.
    let Some(store) = (unsafe { store.as_ref() }) else { return note(&"the store is NULL") };
    // SAFETY: bytes as the caller promises.
    let key = match unsafe { bytes(key, key_length) } {
        Ok(key) => key,
        Err(error) => return note(&error),
    };
    match store.store.exists(key) {
        Ok(true) => dolium_status::DOLIUM_OK,
        Ok(false) => dolium_status::DOLIUM_NO_KEY,
        Err(error) => note(&error),
    }
}

/// Milliseconds that a key has to live, or one of the negative DOLIUM_TTL_ values.
///
/// # Safety
/// `store` must be live, and `key` point to `key_length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dolium_ttl(
    store: *const dolium_store,
    key: *const u8,
    key_length: usize,
) -> i64 {
    // SAFETY: a live store as the caller promises.
    let Some(store) = (unsafe { store.as_ref() }) else {
        note(&"the store is NULL");
        return DOLIUM_TTL_ERROR;
    };
    // SAFETY: bytes as the caller promises.
    let key = match unsafe { bytes(key, key_length) } {
        Ok(key) => key,
        Err(error) => {
            note(&error);
            return DOLIUM_TTL_ERROR;
        }
    };
    match store.store.ttl(key) {
        Ok(Ttl::Millis(millis)) => i64::try_from(millis).unwrap_or(i64::MAX),
        Ok(Ttl::Never) => DOLIUM_TTL_NEVER,
        Ok(Ttl::NoKey) => DOLIUM_TTL_NO_KEY,
        Err(error) => {
            note(&error);
            DOLIUM_TTL_ERROR
        }
    }
}

/// The type of a key as TYPE names it, "none" if there is no such key, NULL after an error.
///
/// # Safety
/// `store` must be live, and `key` point to `key_length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dolium_type(
    store: *const dolium_store,
    key: *const u8,
    key_length: usize,
) -> *const c_char {
    // SAFETY: a live store as the caller promises.
    let Some(store) = (unsafe { store.as_ref() }) else {
        note(&"the store is NULL");
        return std::ptr::null();
    };
    // SAFETY: bytes as the caller promises.
    let key = match unsafe { bytes(key, key_length) } {
        Ok(key) => key,
        Err(error) => {
            note(&error);
            return std::ptr::null();
        }
    };
    match store.store.kind(key) {
        Ok(Some(Kind::String)) => c"string".as_ptr(),
        Ok(Some(Kind::List)) => c"list".as_ptr(),
        Ok(Some(Kind::Set)) => c"set".as_ptr(),
        Ok(None) => c"none".as_ptr(),
        Err(error) => {
            note(&error);
            std::ptr::null()
        }
    }
}

/// Number of keys of the database, due ones that nobody has met yet included.
///
/// # Safety
/// `store` must be live.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dolium_count(store: *const dolium_store) -> u64 {
    // SAFETY: a live store as the caller promises.
    unsafe { store.as_ref() }.map_or(0, |store| store.store.len())
}

/// One step of an iteration over the keys, of about `count` of them (of one, if that is 0). Start with
/// `*cursor` 0; it is 0 again at the end. A key that is there during the whole iteration is visited at
/// least once.
///
/// # Safety
/// `store` must be live, and `cursor` point to a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dolium_scan(
    store: *const dolium_store,
    cursor: *mut u64,
    count: usize,
    visit: dolium_key_visitor,
    context: *mut c_void,
) -> dolium_status {
    // SAFETY: a live store as the caller promises.
    let Some(store) = (unsafe { store.as_ref() }) else { return note(&"the store is NULL") };
    // SAFETY: a number of the caller's, as promised.
    let Some(cursor) = (unsafe { cursor.as_mut() }) else { return note(&"the cursor is NULL") };
    let Some(visit) = visit else { return note(&"dolium_scan needs a function to call") };
    let next = store.store.scan(*cursor, count, |key, _| visit(context, key.as_ptr(), key.len()));
    match next {
        Ok(next) => {
            *cursor = next;
            dolium_status::DOLIUM_OK
        }
        Err(error) => note(&error),
    }
}
