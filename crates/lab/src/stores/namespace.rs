//! A node of its own on one machine: a network namespace, joined with the machine by a pair of
//! virtual interfaces, shaped to a rate if the user asks for one.
//!
//! ```text
//! generator   dlh1234n0  198.18.210.1  <-- veth, 1 Gb/s -->  198.18.210.2  dlp1234n0   server
//!             the machine's own namespace                    namespace dolium-1234-0
//! ```

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use super::guard::Guard;
use crate::LabError;

/// The addresses are from 198.18.0.0/15, which RFC 2544 sets aside for measurements: four for each
/// node, and room for so many nodes in each of so many processes.
const FIRST: u32 = u32::from_be_bytes([198, 18, 0, 0]);
const NODES: u32 = 256;
const PROCESSES: u32 = 128;
const ADDRESSES: u32 = 4;
/// What a shaped link lets through at once, and how long a packet waits at most before it is
/// dropped.
const BURST: &str = "256kb";
const LATENCY: &str = "50ms";

/// Numbers of the nodes that are there now.
static TAKEN: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

/// A node's number, its own for as long as it is held.
struct Place(u32);

impl Place {
    /// The least that nobody holds: of sixteen servers of each store many are there at once, and a
    /// number that came round again would be somebody's.
    fn take() -> Result<Self, LabError> {
        let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
        let free = (0..NODES).find(|number| !taken.contains(number)).ok_or_else(|| {
            LabError::Options(format!("the lab makes no more than {NODES} nodes at once"))
        })?;
        taken.insert(free);
        Ok(Self(free))
    }

    /// An address of the node's own four.
    fn address(&self, process: u32, host: u32) -> Ipv4Addr {
        let node = process % PROCESSES * NODES + self.0;
        Ipv4Addr::from(FIRST + node * ADDRESSES + host)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        TAKEN.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.0);
    }
}

/// What makes a namespace go away. The fields end in this order: a number is free when nothing of its
/// node is left.
struct Held {
    _guard: Guard,
    _place: Place,
}

/// A namespace, removed when the last who knows it is gone.
#[derive(Clone)]
pub struct Namespace {
    name: String,
    address: IpAddr,
    _held: Arc<Held>,
}

impl Namespace {
    /// Makes one; `gigabits` a second limit both directions.
    pub fn new(gigabits: Option<f64>) -> Result<Self, LabError> {
        let place = Place::take()?;
        let number = place.0;
        let process = std::process::id();
        let name = format!("dolium-{process}-{number}");
        let (here, there) = (format!("dlh{process}n{number}"), format!("dlp{process}n{number}"));
        let subnet = |host| place.address(process, host);
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
        let address = IpAddr::V4(subnet(2));
        Ok(Self { name, address, _held: Arc::new(Held { _guard: guard, _place: place }) })
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

    /// Sixteen servers of five stores, the next ones begun before the first have ended.
    #[test]
    fn nodes_that_are_there_at_once_have_numbers_and_addresses_of_their_own() {
        let mut places: Vec<Place> = (0..160).map(|_| Place::take().unwrap()).collect();
        let addresses: BTreeSet<Ipv4Addr> = places
            .iter()
            .flat_map(|place| (0..ADDRESSES).map(|host| place.address(5_000, host)))
            .collect();
        assert_eq!(addresses.len(), 160 * 4);
        let within =
            |address: &Ipv4Addr| address.octets()[0] == 198 && address.octets()[1] & 254 == 18;
        assert!(addresses.iter().all(within));
        let freed = places.remove(70).0;
        let again: Vec<u32> = (0..2).map(|_| Place::take().unwrap().0).collect();
        assert!(again.contains(&freed), "{freed} is free again: {again:?}");
        let last = Place(NODES - 1);
        assert_eq!(last.address(PROCESSES - 1, 3), Ipv4Addr::new(198, 19, 255, 255));
    }

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
