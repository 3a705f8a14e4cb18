//! INFO's Memory section.
//!
//! Redis keeps its data on the heap of which `mem_allocator` and the `allocator_` fields speak. Here
//! data live in the arena and all else on the heap, and these fields are of both together; `arena_`
//! and `heap_` fields tell them apart.

use super::info::lines;
use crate::server::Server;
use std::fmt::Write;
use std::sync::atomic::Ordering::Relaxed;

/// What the allocator says of the heap is as old as this at most where INFO shows it: it adds up for some tens of
/// microseconds.
const HEAP_MS: u64 = 100;

fn human(bytes: u64) -> String {
    let units = [("G", 1u64 << 30), ("M", 1 << 20), ("K", 1 << 10)];
    match units.iter().find(|(_, size)| bytes >= *size) {
        Some((letter, size)) => format!("{:.2}{letter}", bytes as f64 / *size as f64),
        None => format!("{bytes}B"),
    }
}

pub(super) fn memory(server: &Server, out: &mut String) {
    let arena = server.engine.memory();
    let heap = server.heap_usage.within(HEAP_MS, || server.config.heap.usage());
    let all = heap.with_arena(&arena);
    let buffers = server.buffers.used();
    let used = arena.committed + buffers;
    let resident = server.surroundings.resident_bytes();
    let machine = server.surroundings.machine_bytes();
    let sampled = &server.statistics.sampled;
    let peak = sampled.peak_bytes.fetch_max(used, Relaxed).max(used);
    let dataset = arena.live.saturating_sub(arena.index);
    let maxmemory = server.config.number("maxmemory").max(0) as u64;
    let ratio = |a: u64, b: u64| if b == 0 { 0.0 } else { a as f64 / b as f64 };
    lines!(out,
        "used_memory" => used,
        "used_memory_human" => human(used),
        "used_memory_rss" => resident,
        "used_memory_rss_human" => human(resident),
        "used_memory_peak" => peak,
        "used_memory_peak_human" => human(peak),
        "used_memory_peak_perc" => format!("{:.2}%", ratio(used, peak) * 100.0),
        "used_memory_overhead" => used.saturating_sub(dataset),
        "used_memory_startup" => server.startup_bytes.load(Relaxed),
        "used_memory_dataset" => dataset,
        "used_memory_dataset_perc" => format!("{:.2}%", ratio(dataset, used) * 100.0),
        "allocator_allocated" => all.allocated,
        "allocator_active" => all.active,
        "allocator_resident" => all.resident,
        "total_system_memory" => machine,
        "total_system_memory_human" => human(machine),
        "used_memory_lua" => 0,
        "used_memory_vm_eval" => 0,
        "used_memory_lua_human" => human(0),
        "used_memory_scripts_eval" => 0,
        "number_of_cached_scripts" => 0,
        "number_of_functions" => 0,
        "number_of_libraries" => 0,
        "used_memory_vm_functions" => 0,
        "used_memory_vm_total" => 0,
        "used_memory_vm_total_human" => human(0),
        "used_memory_functions" => 0,
        "used_memory_scripts" => 0,
        "used_memory_scripts_human" => human(0),
        "maxmemory" => maxmemory,
        "maxmemory_human" => human(maxmemory),
        "maxmemory_policy" => server.engine.policy().name(),
        "allocator_frag_ratio" => format!("{:.2}", ratio(all.active, all.allocated)),
        "allocator_frag_bytes" => all.active.saturating_sub(all.allocated),
        "allocator_rss_ratio" => format!("{:.2}", ratio(all.resident, all.active)),
        "allocator_rss_bytes" => all.resident.saturating_sub(all.active),
        "rss_overhead_ratio" => format!("{:.2}", ratio(resident, all.resident)),
        "rss_overhead_bytes" => resident as i64 - all.resident as i64,
        "mem_fragmentation_ratio" => format!("{:.2}", ratio(resident, used)),
        "mem_fragmentation_bytes" => resident as i64 - used as i64,
        "mem_not_counted_for_evict" => 0,
        "mem_clients_slaves" => 0,
        "mem_clients_normal" => buffers,
        "mem_cluster_links" => 0,
        "mem_aof_buffer" => 0,
        "mem_replication_backlog" => 0,
        "mem_total_replication_buffers" => 0,
        "mem_allocator" => server.config.heap.name(),
        "active_defrag_running" => 0,
        "lazyfree_pending_objects" => 0,
        "lazyfreed_objects" => 0,
        "arena_max" => arena.max,
        "arena_committed" => arena.committed,
        "arena_live" => arena.live,
        "arena_index" => arena.index,
        "heap_allocated" => heap.allocated,
        "heap_active" => heap.active,
        "heap_resident" => heap.resident,
        "client_buffers_max" => server.config.live.client_buffers_max.load(Relaxed),
    );
}
