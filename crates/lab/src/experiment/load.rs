//! `[load]`: who asks, how fast and how long.

use serde::{Deserialize, Serialize};

/// The shape of the load; an axis of the sweep replaces single fields of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct LoadShape {
    pub connections: usize,
    /// Requests in one send.
    pub pipeline: usize,
    /// Threads of the generator.
    pub threads: usize,
    /// Requests a second in an open loop; without it the loop is closed.
    pub rate: Option<f64>,
    /// Open loop whose rate grows evenly from `rate` to this.
    pub ramp_to: Option<f64>,
    /// Seconds that are measured and shown, but not counted.
    pub warm_up: f64,
    /// Seconds that count.
    pub seconds: f64,
    pub repetitions: usize,
    /// Width of the intervals of time series in seconds; 0 for none.
    pub interval: f64,
    /// Threads of the server.
    pub server_threads: usize,
    /// Whether the server's threads are pinned to cores of their own.
    pub pinned: bool,
    /// Whether the generator of a closed loop looks for replies without a pause, where it has its cores
    /// to itself: for what a server's own work takes, without the waking of its clients.
    pub spin: bool,
    pub unix_socket: bool,
    /// Over TLS, at a listener that the stores have beside their plain one.
    pub tls: bool,
    /// Each server in a network namespace of its own, as if it were another machine.
    pub namespaces: bool,
    /// Gigabits a second to which the links of namespaces are shaped.
    pub gigabits: Option<f64>,
    /// Compare every byte of every value.
    pub verify: bool,
    /// Microseconds that the percentile must stay under to keep the quality of service.
    pub quality_us: f64,
    pub quality_percentile: f64,
    /// Count the server's system calls in one more visit.
    pub count_calls: bool,
    /// Memory that every store is told to keep to. Without it a cache (`hits`) has a quarter of what all
    /// values take, other kinds have `limits::STORE_MIB`, and Redis has no bound.
    pub memory_mib: Option<u64>,
}

impl Default for LoadShape {
    fn default() -> Self {
        Self {
            connections: 50,
            pipeline: 1,
            threads: 1,
            rate: None,
            ramp_to: None,
            warm_up: 0.2,
            seconds: 1.0,
            repetitions: 10,
            interval: 0.0,
            server_threads: 1,
            pinned: true,
            spin: false,
            unix_socket: false,
            tls: false,
            namespaces: false,
            gigabits: None,
            verify: false,
            quality_us: 1000.0,
            quality_percentile: 0.99,
            count_calls: false,
            memory_mib: None,
        }
    }
}
