//! A node of its own on one machine: a network namespace, joined with the machine by a pair of
//! virtual interfaces, shaped to a rate if the user asks for one.
//!
//! ```text
//! generator   dlh1234n0  198.18.210.1  <-- veth, 1 Gb/s -->  198.18.210.2  dlp1234n0   server
//!             the machine's own namespace                    namespace dolium-1234-0
//! ```

use std::net::{IpAddr, Ipv4Addr};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::guard::Guard;
use crate::LabError;

/// The addresses are from 198.18.0.0/15, which RFC 2544 sets aside for measurements: four for each
/// node, a 24-bit block for each process.
const FIRST: [u8; 2] = [198, 18];
const NODES: u32 = 64;
/// What a shaped link lets through at once, and how long a packet waits at most before it is
/// dropped.
const BURST: &str = "256kb";
const LATENCY: &str = "50ms";

static NUMBER: AtomicU32 = AtomicU32::new(0);

/// A namespace, removed when the last who knows it is gone.
#[derive(Clone)]
pub struct Namespace {
    name: String,
    address: IpAddr,
    _guard: Arc<Guard>,
}

impl Namespace {
    /// Makes one; `gigabits` a second limit both directions.
    pub fn new(gigabits: Option<f64>) -> Result<Self, LabError> {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed) % NODES;
        let process = std::process::id();
        let name = format!("dolium-{process}-{number}");
        let (here, there) = (format!("dlh{process}n{number}"), format!("dlp{process}n{number}"));
        let subnet = |host: u32| {
            let block = (process % 256) as u8;
            Ipv4Addr::new(FIRST[0], FIRST[1], block, (number * 4 + host) as u8)
        };
        // Before anything is made: what is made is then undone, whatever happens.
        let guard = Guard::new(&format!("ip netns del {name}; ip link del {here}"))?;
        ip(&format!("netns add {name}"))?;
        ip(&format!("link add {here} type veth peer name {there} netns {name}"))?;
        ip(&format!("addr add {}/30 dev {here}", subnet(1)))?;
        ip(&format!("link set {here} up"))?;
        ip(&format!("-n {name} addr add {}/30 dev {there}", subnet(2)))?;
        ip(&format!("-n {name} link set {there} up"))?;
        ip(&format!("-n {name} link set lo up"))?;
        if let Some(gigabits) = gigabits {
            let megabits = (gigabits * 1000.0).round();
            let shape = |device: &str| {
                format!(
                    "qdisc add dev {device} root tbf rate {megabits}mbit burst {BURST} latency {LATENCY}"
                )
            };
            command("tc", &shape(&here))?;
            command("ip", &format!("netns exec {name} tc {}", shape(&there)))?;
        }
        Ok(Self { name, address: IpAddr::V4(subnet(2)), _guard: Arc::new(guard) })
    }

    /// The address of the node's end.
    pub fn address(&self) -> IpAddr {
        self.address
    }

    /// The same command, run in the namespace. `ip` gives its process to it.
    pub fn inside(&self, command: &Command) -> Command {
        let mut inside = Command::new("ip");
        inside.args(["netns", "exec", &self.name]).arg(command.get_program());
        inside.args(command.get_args());
        inside
    }
}

fn ip(words: &str) -> Result<(), LabError> {
    command("ip", words)
}

fn command(program: &str, words: &str) -> Result<(), LabError> {
    let done = Command::new(program)
        .args(words.split(' '))
        .stdin(Stdio::null())
        .output()
        .map_err(|error| LabError::system(format!("run {program}"), error))?;
    if done.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&done.stderr);
    Err(LabError::Options(format!(
        "this machine does not let the lab make network namespaces: {program} {words} said {}",
        said.trim()
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine that allows no namespaces says so; one that does has none left afterwards.
    #[test]
    fn a_namespace_is_gone_after_its_use() {
        let listed = || {
            let said = Command::new("ip").args(["netns", "list"]).output();
            said.map(|said| String::from_utf8_lossy(&said.stdout).into_owned()).unwrap_or_default()
        };
        match Namespace::new(Some(1.0)) {
            Err(error) => {
                assert!(!listed().contains(&format!("dolium-{}-", std::process::id())), "{error}")
            }
            Ok(namespace) => {
                assert!(listed().contains(&namespace.name));
                let inside = namespace.inside(Command::new("ip").args(["-4", "-o", "addr"]));
                let said = { inside }.output().unwrap();
                let said = String::from_utf8_lossy(&said.stdout).into_owned();
                assert!(said.contains(&namespace.address.to_string()), "{said}");
                let name = namespace.name.clone();
                drop(namespace);
                assert!(!listed().contains(&name));
            }
        }
    }
}
