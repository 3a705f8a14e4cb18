//! `dolium lab load`: ask one store that somebody else started.

use std::net::ToSocketAddrs;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::generator::{self, LoadSpec, Pace, Target, Tls, TlsOptions};
use crate::limits::TURN;
use crate::workload::{Distribution, Mix, Protocol, RequestPool, Sizes, Workload};
use crate::{LabError, output};

#[derive(Args)]
pub(super) struct Options {
    /// Name or address of the server
    #[arg(long, default_value = "127.0.0.1")]
    host: String,
    /// TCP port of the server
    #[arg(long, default_value_t = 6379)]
    port: u16,
    /// Unix socket in place of TCP
    #[arg(long)]
    unix: Option<PathBuf>,
    /// Speak TLS 1.2 or 1.3
    #[arg(long, conflicts_with = "unix")]
    tls: bool,
    /// Believe servers that an authority of this file has signed, in place of the system's
    #[arg(long, value_name = "FILE", requires = "tls")]
    cacert: Option<PathBuf>,
    /// Believe any server
    #[arg(long, alias = "tls-skip-verify", requires = "tls", conflicts_with = "cacert")]
    insecure: bool,
    /// The server's name, to ask for and to find in its certificate, in place of the host
    #[arg(long, value_name = "NAME", requires = "tls")]
    sni: Option<String>,
    /// A certificate to show to the server
    #[arg(long, value_name = "FILE", requires = "tls")]
    cert: Option<PathBuf>,
    /// Its private key, if it is not in the same file
    #[arg(long, value_name = "FILE", requires = "cert")]
    cert_key: Option<PathBuf>,
    /// resp, resp3, memcached, meta, binary or http
    #[arg(long, default_value = "resp")]
    protocol: Protocol,
    /// get, set or mixed:PERCENT-OF-GET
    #[arg(long = "op", default_value = "get")]
    mix: Mix,
    /// Connections, shared among the threads
    #[arg(long = "conns", default_value_t = 50)]
    connections: usize,
    /// Requests in one send
    #[arg(long, default_value_t = 1)]
    pipeline: usize,
    /// Threads of the generator
    #[arg(long, default_value_t = 1)]
    threads: usize,
    /// Cores to pin the generator's threads to, such as 1,2
    #[arg(long, value_delimiter = ',')]
    cores: Vec<usize>,
    /// Look for replies without a pause in place of sleeping, where no server runs on the generator's cores
    #[arg(long, conflicts_with = "rate")]
    spin: bool,
    /// Keys that are set first, unless --no-load is given, and then asked for
    #[arg(long, default_value_t = 100_000)]
    keys: u32,
    /// Bytes of a key: a number, range:LEAST:MOST, list:A:B:C or etc-keys
    #[arg(long = "key", default_value = "16")]
    key_bytes: Sizes,
    /// Bytes of a value: a number, range:LEAST:MOST, list:A:B:C or etc
    #[arg(long = "value", default_value = "100")]
    value_bytes: Sizes,
    /// Seconds until what is set expires; 0 for never
    #[arg(long, default_value_t = 0)]
    ttl: u32,
    /// uniform, sequential, zipf:E, zipf-contiguous:E, latest:E, gaussian:D or hot:KEYS:REQUESTS
    #[arg(long, default_value = "uniform")]
    distribution: Distribution,
    /// Requests a second, due at even intervals (open loop); without it, as fast as answered
    #[arg(long)]
    rate: Option<f64>,
    /// Seconds that are measured
    #[arg(long, default_value_t = 5.0)]
    seconds: f64,
    /// Seconds of asking before those that are measured
    #[arg(long, default_value_t = 0.5)]
    warm_up: f64,
    /// Parse every reply and check every byte of every value
    #[arg(long)]
    verify: bool,
    /// Do not set all keys first
    #[arg(long)]
    no_load: bool,
    /// Process of the server, to measure its CPU time
    #[arg(long)]
    pid: Option<u32>,
    /// Number that keys and operations are drawn from: the same one asks the same requests again
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

impl Options {
    pub fn run(&self) -> Result<(), LabError> {
        let target = self.target()?;
        let workload = Workload {
            protocol: self.protocol,
            mix: self.mix.clone(),
            keys: self.keys,
            key_bytes: self.key_bytes.clone(),
            value_bytes: self.value_bytes.clone(),
            ttl: self.ttl,
            distribution: self.distribution,
            seed: self.seed,
        };
        let seconds = |number: f64| {
            Duration::try_from_secs_f64(number)
                .map_err(|_| LabError::Options(format!("{number} is no time")))
        };
        let spec = LoadSpec {
            target,
            more: Vec::new(),
            connections: self.connections,
            pipeline: self.pipeline,
            threads: self.threads,
            cores: self.cores.clone(),
            warm_up: seconds(self.warm_up)?,
            window: seconds(self.seconds)?,
            turn: TURN,
            pace: self.rate.map_or(Pace::Closed, |rate| Pace::Open { rate }),
            verify: self.verify,
            servers: self.pid.into_iter().collect(),
            interval: None,
            fill: None,
            spins: self.spin,
            between: None,
        };
        let pool = RequestPool::build(&workload)?;
        // Somebody's own store runs there: nothing is written into it for a run that cannot be.
        generator::check(&spec, &pool)?;
        if !self.no_load {
            generator::preload(&spec.target, &workload, |_| {})?;
        }
        let report = generator::run(&spec, &pool)?;
        let mut lines = vec![format!(
            "{}, pipeline {}, {} connections, {} loop",
            self.mix.name(),
            self.pipeline,
            self.connections,
            if self.rate.is_some() { "open" } else { "closed" }
        )];
        lines.push(format!("  operations      {:>12}", report.operations));
        lines.push(format!("  operations/s    {:>12.0}", report.rate()));
        for (name, share) in
            [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999), ("worst", 1.0)]
        {
            lines.push(format!("  {name:<12} us {:>12.1}", report.latency_us(share)));
        }
        if self.rate.is_some() {
            let lag = report.lag.value_at_quantile(0.99) as f64 / 1e3;
            lines.push(format!("  client late us  {lag:>12.1}   (99th percentile)"));
        }
        lines.push(format!("  client us/op    {:>12.3}", report.client_us()));
        if let (Some(us), Some(busy)) = (report.server_us(), report.server_busy()) {
            lines.push(format!("  server us/op    {us:>12.3}"));
            lines.push(format!("  server busy     {:>11.0}%", busy * 100.0));
        }
        if report.misses > 0 {
            let share = report.misses_percent();
            lines.push(format!(
                "  without a value {:>12}   ({share:.2} % of what was read)",
                report.misses
            ));
        }
        if report.unanswered > 0 {
            lines.push(format!("  never answered  {:>12}", report.unanswered));
        }
        output::print(lines.join("\n") + "\n")
    }

    fn target(&self) -> Result<Target, LabError> {
        if let Some(path) = &self.unix {
            return Ok(Target::Unix(path.clone()));
        }
        let unknown = || LabError::Options(format!("no address for host {}", self.host));
        let mut addresses =
            (self.host.as_str(), self.port).to_socket_addrs().map_err(|_| unknown())?;
        let address = addresses.next().ok_or_else(unknown)?;
        if !self.tls {
            return Ok(Target::Tcp(address));
        }
        let options = TlsOptions {
            authorities: self.cacert.clone(),
            insecure: self.insecure,
            name: self.sni.clone(),
            certificate: self.cert.clone(),
            key: self.cert_key.clone(),
        };
        Ok(Target::Tls(address, Tls::new(&options, &self.host)?))
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        options: Options,
    }

    /// A store that runs is somebody's: what cannot be measured must not write keys into it first.
    #[test]
    fn what_cannot_be_asked_is_refused_before_the_store_is_touched() {
        let store = TcpListener::bind("127.0.0.1:0").unwrap();
        store.set_nonblocking(true).unwrap();
        let port = store.local_addr().unwrap().port().to_string();
        for wrong in [
            "--conns=0",
            "--pipeline=0",
            "--threads=0",
            "--rate=0",
            "--rate=-1",
            "--rate=NaN",
            "--seconds=0",
            "--seconds=-1",
            "--seconds=1e12",
            "--warm-up=NaN",
        ] {
            let line = ["load", "--port", &port, "--keys", "100", wrong];
            let told = Line::try_parse_from(line).unwrap().options.run();
            assert!(matches!(told, Err(LabError::Options(_))), "{wrong}: {told:?}");
            assert!(store.accept().is_err(), "{wrong}: the store was asked");
        }
    }
}
