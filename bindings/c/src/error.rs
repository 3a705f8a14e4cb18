//! How a call ended, and what it has to say.

use std::cell::RefCell;
use std::ffi::{CString, c_char};

/// How a call ended.
#[allow(non_camel_case_types)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum dolium_status {
    DOLIUM_OK = 0,
    /// There is no such key.
    DOLIUM_NO_KEY = 1,
    /// The value is longer than the buffer; its length has been told.
    DOLIUM_TOO_SMALL = 2,
    /// See dolium_error_message().
    DOLIUM_ERROR = 3,
}

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

/// Keeps a message for the calling thread.
pub(crate) fn note(error: &dyn std::fmt::Display) -> dolium_status {
    let text = error.to_string().replace('\0', " ");
    // A thread that ends runs destructors, which may call us when its message is gone already.
    let _ = LAST.try_with(|last| last.replace(CString::new(text).unwrap_or_default()));
    dolium_status::DOLIUM_ERROR
}

/// What the last failed call of this thread has to say. It stays until the next failed call.
#[unsafe(no_mangle)]
pub extern "C" fn dolium_error_message() -> *const c_char {
    LAST.try_with(|last| last.borrow().as_ptr()).unwrap_or(c"this thread is ending".as_ptr())
}
