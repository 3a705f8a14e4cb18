//! What a value that is kept does not do: said in the log, once when it is set.

use super::Config;

/// Who asks for less has probably left out the unit.
const SURELY_MEANT: u64 = 1 << 20;

/// Warns of values that somebody may rely on in vain. `names`: the directives that were set.
/// `arena_bytes`: the most that the store's memory reaches.
pub fn warn(config: &Config, names: &[&str], arena_bytes: u64) {
    if names.contains(&"save") && !config.get("save").is_empty() {
        tracing::warn!("'save' is kept, but nothing is saved: data lives as long as the server");
    }
    let maxmemory = config.number("maxmemory").max(0) as u64;
    if names.contains(&"maxmemory") && (1..SURELY_MEANT).contains(&maxmemory) {
        tracing::warn!(
            maxmemory,
            "'maxmemory' is less than a megabyte: without a unit it counts bytes, 100mb is a hundred \
             megabytes"
        );
    }
    if names.contains(&"maxmemory") && maxmemory > arena_bytes {
        tracing::warn!(
            maxmemory,
            arena_bytes,
            "'maxmemory' is more than this server's memory reaches: writes are refused, or others \
             evicted, before it is used"
        );
    }
}
