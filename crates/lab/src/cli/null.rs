//! `dolium lab null`: serve as a store that parses nothing.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use clap::Args;

use crate::LabError;
use crate::generator::Target;
use crate::null::{self, Counting, Engine, NullSpec};
use crate::workload::{Operation, Protocol, wire};

#[derive(Args)]
pub(super) struct Options {
    /// TCP port
    #[arg(long, required_unless_present = "unix")]
    port: Option<u16>,
    /// Address to listen at
    #[arg(long, default_value = "127.0.0.1")]
    bind: IpAddr,
    /// Unix socket in place of TCP
    #[arg(long)]
    unix: Option<PathBuf>,
    /// Wait on io_uring in place of epoll
    #[arg(long)]
    io_uring: bool,
    /// Operation whose good reply is sent: get or set
    #[arg(long = "op", default_value = "get")]
    operation: Operation,
    /// resp or memcached
    #[arg(long, default_value = "resp")]
    protocol: Protocol,
    /// Bytes of a key
    #[arg(long = "key", default_value_t = 16)]
    key_bytes: usize,
    /// Bytes of a value
    #[arg(long = "value", default_value_t = 100)]
    value_bytes: usize,
    /// Count requests by their length, so that no byte of them is looked at
    #[arg(long)]
    count_bytes: bool,
    /// Be busy for so many nanoseconds with each request (epoll only)
    #[arg(long, default_value_t = 0.0, conflicts_with = "io_uring")]
    busy_ns: f64,
}

impl Options {
    pub fn run(&self) -> Result<(), LabError> {
        let target = match (&self.unix, self.port) {
            (Some(path), _) => Target::Unix(path.clone()),
            (None, port) => Target::Tcp(SocketAddr::new(self.bind, port.unwrap_or_default())),
        };
        let engine = if self.io_uring { Engine::Uring } else { Engine::Epoll };
        let (protocol, key, value) = (self.protocol, self.key_bytes, self.value_bytes);
        let mut spec = NullSpec::answering(engine, protocol, self.operation, key, value)?;
        spec.busy_ns = self.busy_ns;
        if self.count_bytes {
            let mut request = Vec::new();
            let asking =
                wire::Asking { protocol, id: 0, key_bytes: key, value_bytes: value, ttl: 0 };
            wire::push_request(&mut request, self.operation, asking);
            spec.counting = Counting::Bytes(request.len());
        }
        null::serve(&spec, &target)
    }
}
