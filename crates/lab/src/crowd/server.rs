//! A Memcached server that takes part: started on a core with both doors, and ended with its value.

use std::net::{Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::LabError;
use crate::limits::START;
use crate::stores::{free_port, tie};

const MEGABYTES: &str = "256";
const CONNECTIONS_MAX: &str = "16000";

/// Who takes part: a name and the program with the words before Memcached's options.
#[derive(Clone, Debug)]
pub struct Contender {
    pub name: String,
    pub program: PathBuf,
    pub words: Vec<String>,
}

/// A server as a child process, ended with this value.
pub(super) struct Server {
    pub child: Child,
    pub address: SocketAddr,
    pub datagrams: SocketAddr,
}

impl Drop for Server {
    fn drop(&mut self) {
        // The child is ours; errors mean that it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(super) fn resident_mib(pid: u32) -> Result<f64, LabError> {
    let path = format!("/proc/{pid}/status");
    let text = std::fs::read_to_string(Path::new(&path))
        .map_err(|error| LabError::system("see the server's memory", error))?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    Ok(kib.unwrap_or(0.0) / 1024.0)
}

/// Whether this process may have its servers run before all other programs of their core: those of
/// the machine itself took 3 ms of each second, and of some 30, for which requests waited.
pub fn may_come_first() -> bool {
    let mut command = first(Path::new("true"));
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

/// The program under the lowest real-time priority, as the same process.
fn first(program: &Path) -> Command {
    let mut command = Command::new("chrt");
    command.args(["--fifo", "1"]).arg(program);
    command
}

pub(super) fn start(
    contender: &Contender,
    core: usize,
    comes_first: bool,
) -> Result<Server, LabError> {
    let failed = |error| LabError::system(format!("start {}", contender.name), error);
    let local = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let udp = UdpSocket::bind(local(0)).and_then(|socket| socket.local_addr());
    let (address, datagrams) = (local(free_port().map_err(failed)?), udp.map_err(failed)?);
    let mut command = match comes_first {
        true => first(&contender.program),
        false => Command::new(&contender.program),
    };
    command.args(&contender.words);
    command.args(["-p", &address.port().to_string(), "-U", &datagrams.port().to_string()]);
    command.args(["-l", "127.0.0.1", "-t", "1", "-m", MEGABYTES, "-c", CONNECTIONS_MAX]);
    command.args(["-u", "root"]).stdout(Stdio::null()).stderr(Stdio::null());
    tie(&mut command, vec![core]);
    let child = command.spawn().map_err(failed)?;
    let mut server = Server { child, address, datagrams };
    let limit = Instant::now() + START;
    while let Err(error) = TcpStream::connect(server.address) {
        // As when there is no such program to be run first.
        if let Ok(Some(status)) = server.child.try_wait() {
            return Err(failed(std::io::Error::other(format!("it ended at once: {status}"))));
        }
        if Instant::now() > limit {
            return Err(failed(error));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(server)
}
