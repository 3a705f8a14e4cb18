//! What C hands over, as Rust sees it. The callers of `dolium.h` promise what is believed here.

use std::mem::MaybeUninit;

/// Some bytes of the caller's.
#[allow(non_camel_case_types)]
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct dolium_bytes {
    pub data: *const u8,
    pub length: usize,
}

/// Bytes of the caller's, trusted for the duration of a call.
#[repr(transparent)]
pub(crate) struct Given(dolium_bytes);

impl AsRef<[u8]> for Given {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: a `Given` is made only by `all`, whose caller passes on C's promise that the bytes
        // stay readable and unchanged during the call, which the `Given` does not outlive.
        unsafe { bytes(self.0.data, self.0.length) }
    }
}

/// # Safety
/// `data` must be null or point to `length` bytes that stay readable and unchanged for `'a`.
pub(crate) unsafe fn bytes<'a>(data: *const u8, length: usize) -> &'a [u8] {
    if data.is_null() || length == 0 {
        return &[];
    }
    // SAFETY: not null, and readable and unchanged as the caller promises.
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
    let length = length.min(isize::MAX as usize);
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
pub(crate) unsafe fn all<'a>(pieces: *const dolium_bytes, count: usize) -> &'a [Given] {
    if pieces.is_null() || count == 0 {
        return &[];
    }
    // SAFETY: not null and readable as the caller promises; `Given` is transparent over the type.
    unsafe { std::slice::from_raw_parts(pieces.cast::<Given>(), count) }
}
