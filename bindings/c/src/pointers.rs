//! What C hands over, as Rust sees it. The callers of `dolium.h` promise what is believed here.

use std::fmt::{Display, Formatter};
use std::mem::MaybeUninit;

/// Some bytes of the caller's. NULL is an empty string if the length is 0, and refused if it is not.
#[allow(non_camel_case_types)]
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct dolium_bytes {
    pub data: *const u8,
    pub length: usize,
}

/// A command: its words, such as SET, key, value.
#[allow(non_camel_case_types)]
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct dolium_command {
    pub words: *const dolium_bytes,
    pub count: usize,
}

/// Bytes that cannot be there. Taken for an empty string, they would be stored as one: what a program has that
/// did not look whether its malloc, or its read, failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoBytes {
    Null(usize),
    TooLong(usize),
}

impl Display for NoBytes {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            NoBytes::Null(length) => write!(
                f,
                "a pointer is NULL though its length is {length}: an empty string has length 0"
            ),
            NoBytes::TooLong(length) => write!(
                f,
                "a length is {length}, which is more than there can be in memory: was it negative?"
            ),
        }
    }
}

impl NoBytes {
    /// Whether there can be so many of them.
    fn refuse<T>(data: *const T, count: usize) -> Result<(), NoBytes> {
        if data.is_null() && count > 0 {
            return Err(NoBytes::Null(count));
        }
        match count.checked_mul(size_of::<T>()) {
            Some(0..=BYTES_MAX) => Ok(()),
            _ => Err(NoBytes::TooLong(count)),
        }
    }
}

/// The longest slice.
const BYTES_MAX: usize = isize::MAX as usize;

/// Bytes of the caller's, trusted for the duration of a call.
#[repr(transparent)]
pub(crate) struct Given(dolium_bytes);

impl AsRef<[u8]> for Given {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: a `Given` is made only by `all`, which has refused those that cannot be there, and whose
        // caller passes on C's promise that the bytes stay readable and unchanged during the call, which
        // the `Given` does not outlive.
        unsafe { slice(self.0.data, self.0.length) }
    }
}

/// # Safety
/// `data` must be null or point to `length` bytes that stay readable and unchanged for `'a`.
pub(crate) unsafe fn bytes<'a>(data: *const u8, length: usize) -> Result<&'a [u8], NoBytes> {
    NoBytes::refuse(data, length)?;
    // SAFETY: they can be there, and are as the caller promises.
    Ok(unsafe { slice(data, length) })
}

/// # Safety
/// As [`bytes`], and these must not be such as are refused.
unsafe fn slice<'a, T>(data: *const T, length: usize) -> &'a [T] {
    if length == 0 {
        return &[];
    }
    // SAFETY: not null and no longer than a slice may be, as only that is not refused; readable and
    // unchanged as the caller promises.
    unsafe { std::slice::from_raw_parts(data, length) }
}

/// Room for bytes, which may hold anything.
///
/// # Safety
/// `data` must be null or point to `length` writable bytes that nobody else uses during `'a`.
pub(crate) unsafe fn room<'a>(data: *mut u8, length: usize) -> &'a mut [MaybeUninit<u8>] {
    if data.is_null() || length == 0 {
        return &mut [];
    }
    // Who says SIZE_MAX means enough; a slice of so much there is not.
    let length = length.min(BYTES_MAX);
    // SAFETY: not null, writable and nobody else's as the caller promises; bytes that may be
    // uninitialised need nothing more.
    unsafe { std::slice::from_raw_parts_mut(data.cast::<MaybeUninit<u8>>(), length) }
}

/// Whether two pieces of memory have a byte in common.
pub(crate) fn overlap(
    one: *const u8,
    length: usize,
    other: *const u8,
    other_length: usize,
) -> bool {
    let (one, other) = (one.addr(), other.addr());
    one < other.saturating_add(other_length) && other < one.saturating_add(length)
}

/// # Safety
/// As [`bytes`], for the array and for each of the `count` pieces it names.
pub(crate) unsafe fn all<'a>(
    pieces: *const dolium_bytes,
    count: usize,
) -> Result<&'a [Given], NoBytes> {
    NoBytes::refuse(pieces, count)?;
    // SAFETY: they can be there, and are as the caller promises; `Given` is transparent over the type.
    let pieces = unsafe { slice(pieces.cast::<Given>(), count) };
    for Given(piece) in pieces {
        NoBytes::refuse(piece.data, piece.length)?;
    }
    Ok(pieces)
}

/// # Safety
/// `data` must be null or point to `count` commands, and their words to bytes, that stay readable and
/// unchanged for `'a`.
pub(crate) unsafe fn commands<'a>(
    data: *const dolium_command,
    count: usize,
) -> Result<Vec<Vec<&'a [u8]>>, NoBytes> {
    NoBytes::refuse(data, count)?;
    // SAFETY: they can be there, and are as the caller promises.
    let commands: &[dolium_command] = unsafe { slice(data, count) };
    let mut lists = Vec::with_capacity(count);
    for command in commands {
        // SAFETY: the words are as the caller promises.
        let words = unsafe { all(command.words, command.count) }?;
        lists.push(words.iter().map(AsRef::as_ref).collect());
    }
    Ok(lists)
}
