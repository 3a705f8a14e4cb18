//! Attaching, detaching, and which database.

use crate::error::note;
use dolium_attach::Store;
use std::ffi::{CStr, OsStr, c_char};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::Duration;

/// An attached store, seen through one of its databases.
#[allow(non_camel_case_types)]
#[derive(Debug)]
pub struct dolium_store {
    pub(crate) store: Store,
}

impl From<Store> for dolium_store {
    fn from(store: Store) -> dolium_store {
        dolium_store { store }
    }
}

fn hand_out(store: Result<Store, dolium_attach::Error>) -> *mut dolium_store {
    match store {
        Ok(store) => Box::into_raw(Box::new(store.into())),
        Err(error) => {
            note(&error);
            std::ptr::null_mut()
        }
    }
}

/// Attaches at a server's attach-socket, or with NULL where a server of this user has it.
/// NULL if that fails.
///
/// # Safety
/// `path` must be NULL or a string that ends with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dolium_attach(path: *const c_char) -> *mut dolium_store {
    if path.is_null() {
        return hand_out(Store::attach_usual());
    }
    // SAFETY: not null, and a string as the caller promises.
    let path = unsafe { CStr::from_ptr(path) };
    hand_out(Store::attach(PathBuf::from(OsStr::from_bytes(path.to_bytes()))))
}

/// The same store through another database; NULL if there is none of that number. Both have to be
/// detached.
///
/// # Safety
/// `store` must come from dolium_attach or dolium_db and not have been detached.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dolium_db(store: *const dolium_store, number: u16) -> *mut dolium_store {
    // SAFETY: a live store as the caller promises.
    let Some(store) = (unsafe { store.as_ref() }) else {
        note(&"the store is NULL");
        return std::ptr::null_mut();
    };
    hand_out(store.store.db(number))
}

/// Is the connection to the server there? One system call. If not, the server has ended, and reads go on
/// in the memory that it left, which nobody changes any more; or it goes on, and has closed the
/// connection of this process. Attach again to find out which. Reads never ask: a program that is to
/// notice calls this now and then. A server that is stopped for a while is there.
///
/// # Safety
/// `store` must be NULL or live.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dolium_is_served(store: *const dolium_store) -> bool {
    // SAFETY: NULL or a live store, as the caller promises.
    unsafe { store.as_ref() }.is_some_and(|store| store.store.is_served())
}

/// How long each dolium_execute through this store, and each read that has to be asked of the server, may
/// take, in milliseconds; 0, as at first: however long it takes, which with a server that is stopped
/// (SIGSTOP, a debugger, a frozen container) is for ever. A call that is given up fails, and the server may
/// run its command all the same; commands of this process fail from then on, until it attaches again.
/// The limit is of this dolium_store, not of others of the same attachment (dolium_db).
///
/// # Safety
/// `store` must be NULL or live, and no other thread may use it during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dolium_set_timeout(store: *mut dolium_store, milliseconds: u64) {
    // SAFETY: NULL or a live store that nobody else uses, as the caller promises.
    let Some(store) = (unsafe { store.as_mut() }) else { return };
    let limit = (milliseconds > 0).then(|| Duration::from_millis(milliseconds));
    store.store = store.store.with_time_limit(limit);
}

/// Gives a store back. NULL is allowed.
///
/// # Safety
/// `store` must be NULL or come from dolium_attach or dolium_db, and nobody may use it any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dolium_detach(store: *mut dolium_store) {
    if !store.is_null() {
        // SAFETY: made by `hand_out`, and given back once, as the caller promises.
        drop(unsafe { Box::from_raw(store) });
    }
}
