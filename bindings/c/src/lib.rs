//! The C library: libdolium. A thin layer over the attach crate; every meaning is there.
//!
//! What C hands over (pointers with lengths) is turned into slices in `pointers`, the one place
//! that believes it; `store`, `read` and `execute` are the functions of `dolium.h`, which a test
//! generates anew and compares.

mod error;
mod execute;
mod pointers;
mod read;
mod store;

pub use error::{dolium_error_message, dolium_status};
pub use execute::*;
pub use pointers::{dolium_bytes, dolium_command};
pub use read::*;
pub use store::*;
