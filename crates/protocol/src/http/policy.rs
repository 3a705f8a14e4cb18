//! Who else may have a response: caches on the way, and web pages.

/// A page of another origin cannot load it as an image or a script, not even to time or measure it.
pub const POLICY: &str = "Cross-Origin-Resource-Policy";
pub const POLICY_OURS: &str = "same-origin";
pub const CACHE: &str = "Cache-Control";
/// It may be kept, and is asked about each time.
pub const CACHE_ASKED: &str = "no-cache";
/// It is not kept: the next request may be granted.
pub const CACHE_NONE: &str = "no-store";
