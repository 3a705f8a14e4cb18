//! What C hands over, as Rust sees it. The callers of `dolium.h` promise what is believed here.

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

/// # Safety
/// As [`bytes`], for the array and for each of the `count` pieces it names.
pub(crate) unsafe fn all<'a>(pieces: *const dolium_bytes, count: usize) -> &'a [Given] {
    if pieces.is_null() || count == 0 {
        return &[];
    }
    // SAFETY: not null and readable as the caller promises; `Given` is transparent over the type.
    unsafe { std::slice::from_raw_parts(pieces.cast::<Given>(), count) }
}
