//! A Memcached server that takes part: started on a core with both doors, and ended with its value.

use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::LabError;
use crate::limits::START;
use crate::stores::tie;

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

pub(super) fn start(contender: &Contender, core: usize) -> Result<Server, LabError> {
    let failed = |error| LabError::system(format!("start {}", contender.name), error);
    let local = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let tcp = TcpListener::bind(local(0)).and_then(|socket| socket.local_addr());
    let udp = UdpSocket::bind(local(0)).and_then(|socket| socket.local_addr());
    let (address, datagrams) = (tcp.map_err(failed)?, udp.map_err(failed)?);
    let mut command = Command::new(&contender.program);
    command.args(&contender.words);
    command.args(["-p", &address.port().to_string(), "-U", &datagrams.port().to_string()]);
    command.args(["-l", "127.0.0.1", "-t", "1", "-m", MEGABYTES, "-c", CONNECTIONS_MAX]);
    command.args(["-u", "root"]).stdout(Stdio::null()).stderr(Stdio::null());
    tie(&mut command, vec![core]);
    let child = command.spawn().map_err(failed)?;
    let server = Server { child, address, datagrams };
    let limit = Instant::now() + START;
    while let Err(error) = TcpStream::connect(server.address) {
        if Instant::now() > limit {
            return Err(failed(error));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(server)
}
