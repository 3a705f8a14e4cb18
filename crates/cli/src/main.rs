//! The `dolium` binary.
fn main() {}
