//! The names of all figures: what they are called in results, what a reader sees, which way is good.

/// What is known of a figure beside its value.
#[derive(Clone, Copy, Debug)]
pub struct Figure {
    pub name: &'static str,
    pub label: &'static str,
    /// Whether less of it is better.
    pub less: bool,
}

const fn more(name: &'static str, label: &'static str) -> Figure {
    Figure { name, label, less: false }
}

const fn less(name: &'static str, label: &'static str) -> Figure {
    Figure { name, label, less: true }
}

/// Every figure that a visit can have.
pub const FIGURES: &[Figure] = &[
    more("rate", "operations a second"),
    more("value_mb_s", "MB of values a second"),
    more("closed_loop_rate", "operations a second in a closed loop"),
    more("quality_rate", "operations a second within the quality of service"),
    less("mean", "mean latency, µs"),
    less("least", "least latency, µs"),
    less("p50", "median latency, µs"),
    less("p90", "90th percentile, µs"),
    less("p99", "99th percentile, µs"),
    less("p999", "99.9th percentile, µs"),
    less("p50_reads", "median latency of reads, µs"),
    less("p99_reads", "99th percentile of reads, µs"),
    less("p50_writes", "median latency of writes, µs"),
    less("p99_writes", "99th percentile of writes, µs"),
    less("p50_others", "median latency of scans and commands, µs"),
    less("p99_others", "99th percentile of scans and commands, µs"),
    less("worst", "longest latency, µs"),
    less("server_us", "server CPU, µs an operation"),
    less("server_total_us", "server CPU and its cores' ksoftirqd, µs an operation"),
    less("server_user_us", "server CPU in the program, µs an operation"),
    less("server_system_us", "server CPU in the system, µs an operation"),
    less("system_share", "system's share of the server's CPU, %"),
    less("client_us", "client CPU, µs an operation"),
    less("busy", "cores that the server kept busy"),
    less("client_busy", "share of its cores that the client used, %"),
    less("cpu_user", "machine, user, % of all cores"),
    less("cpu_system", "machine, system, % of all cores"),
    less("cpu_iowait", "machine, waiting for disks, % of all cores"),
    less("cpu_irq", "machine, interrupts, % of all cores"),
    less("cpu_softirq", "machine, soft interrupts, % of all cores"),
    less("cpu_steal", "machine, taken by the host, % of all cores"),
    less("cpu", "machine's CPU, % of all cores"),
    less("waits_per_op", "times the server waited, an operation"),
    less("preemptions_per_op", "times the server was made to wait, an operation"),
    less("faults_per_op", "page faults of the server an operation"),
    less("rss_mib", "resident memory of the server, MiB"),
    less("growth_kib_s", "growth of memory, KiB a second"),
    less("swap", "pages swapped a second"),
    less("swap_mib", "swapped memory of the server, MiB"),
    less("loopback_b_per_op", "bytes over the loopback interface an operation"),
    less("written_mb_s", "MB written to disk a second"),
    less("calls_per_op", "system calls of the server an operation"),
    less("calls_s", "system calls of the server a second"),
    less("instructions_per_op", "instructions an operation"),
    less("l1d_miss_share", "L1 data misses, % of loads"),
    less("misses_share", "reads without a value, %"),
    less("unanswered", "requests never answered"),
    less("tries", "rates that were tried"),
    less("lag_p99", "client late by, 99th percentile, µs"),
    less("command_us", "time in the command by the store's account, µs"),
    less("bytes_per_key", "resident memory that a key added, bytes"),
    less("of_data", "memory as a multiple of the data"),
    less("used_of_data", "memory by the store's account as a multiple of the data"),
    less("growth_of_disk", "memory as a multiple of the bytes on disk"),
    less("fragmentation", "resident over used memory"),
    less("iteration_s", "seconds an iteration"),
    more("hit_ratio", "reads that found their key, %"),
    less("dependent_ns", "two dependent misses, ns"),
    less("batch16_ns", "in batches of 16, ns a get"),
    less("batch32_ns", "in batches of 32, ns a get"),
    more("used_mib", "memory by the store's account, MiB"),
    less("keys_lost", "keys that were not there at the end"),
];

/// What is known of the figure of that name.
pub fn figure(name: &str) -> Figure {
    let known = FIGURES.iter().find(|figure| figure.name == name);
    known.copied().unwrap_or(Figure { name: "", label: "", less: true })
}

/// What a reader sees on an axis.
pub fn label(name: &str) -> &str {
    let known = figure(name);
    if known.label.is_empty() { name } else { known.label }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::catalogue;

    #[test]
    fn every_figure_that_an_experiment_draws_is_known_once() {
        for (number, one) in FIGURES.iter().enumerate() {
            assert!(FIGURES[..number].iter().all(|other| other.name != one.name), "{}", one.name);
        }
        for experiment in catalogue::all().unwrap() {
            let drawn =
                experiment.plot.iter().map(|plot| plot.y.as_str()).filter(|y| !y.is_empty());
            for name in drawn.chain([experiment.figure.as_str()]) {
                assert!(!figure(name).label.is_empty(), "{}: {name}", experiment.name);
            }
        }
    }
}
