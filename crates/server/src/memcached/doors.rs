//! The sockets that `-p`, `-U`, `-l` and `-s` ask for, and the file that names their ports.

use super::{Place, Setup};
use crate::folder;
use crate::lifecycle::StartFailure;
use crate::listener::{self, Address, Door, DoorFailure, Listener};
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs, UdpSocket};
use std::os::fd::AsRawFd;

/// Everything a Memcached server listens on.
#[derive(Debug, Default)]
pub struct Doors {
    /// A list for each address, with a socket for each thread.
    pub streams: Vec<Vec<Listener>>,
    pub datagrams: Vec<UdpSocket>,
}

impl Setup {
    /// Opens them all. The numbers that free ports came out as are put into the settings.
    pub fn open_doors(&mut self, threads: usize, backlog: i32) -> Result<Doors, StartFailure> {
        let mut doors = Doors::default();
        if let Some(path) = &self.unix_socket {
            let fail = |error| door_failure(Address::Unix(path.clone()), "-s", error);
            let mode = self.fixed.unix_mask;
            // Memcached takes the place of whatever socket file is there.
            if is_socket(path) {
                folder::vacate(path).map_err(fail)?;
            }
            let listener =
                listener::listen_unix(path, Door::Memcached, mode, backlog).map_err(fail)?;
            doors.streams.push(vec![listener]);
            return Ok(doors);
        }
        for (ip, own_port, is_plain, is_optional) in self.addresses()? {
            let port = own_port.map_or(self.tcp_port, i32::from);
            if port != 0 {
                let address = SocketAddr::new(ip, u16::try_from(port).unwrap_or(0));
                match listener::listen_tcp(address, Door::Memcached, threads, backlog) {
                    Ok(mut listeners) => {
                        let is_tls = self.tls.is_some() && !is_plain;
                        listeners.iter_mut().for_each(|listener| listener.is_tls = is_tls);
                        doors.streams.push(listeners);
                    }
                    Err(error) if is_optional && is_no_address(&error) => {}
                    Err(error) => return Err(door_failure(Address::Tcp(address), "-p", error)),
                }
            }
            if self.udp_port != 0 {
                // As in Memcached, a port of its own is that of both.
                let port = own_port.map_or(self.udp_port, i32::from);
                let address = SocketAddr::new(ip, u16::try_from(port).unwrap_or(0));
                match bind_datagram(address) {
                    Ok(socket) => doors.datagrams.push(socket),
                    Err(error) if is_optional && is_no_address(&error) => {}
                    Err(error) => return Err(door_failure(Address::Tcp(address), "-U", error)),
                }
            }
        }
        if let Some(Address::Tcp(address)) = doors.streams.first().map(|l| &l[0].address) {
            self.fixed.tcp_port = address.port();
        }
        if let Some(address) = doors.datagrams.first().and_then(|s| s.local_addr().ok()) {
            self.fixed.udp_port = address.port();
        }
        self.write_ports(&doors)?;
        Ok(doors)
    }

    /// Address, a port of its own, whether it is without TLS, and whether the machine may lack its
    /// family.
    fn addresses(&self) -> Result<Vec<(IpAddr, Option<u16>, bool, bool)>, StartFailure> {
        if self.hosts.is_empty() {
            let any = [Ipv4Addr::UNSPECIFIED.into(), Ipv6Addr::UNSPECIFIED.into()];
            return Ok(any.into_iter().map(|ip: IpAddr| (ip, None, false, ip.is_ipv6())).collect());
        }
        let mut addresses = Vec::new();
        for Place { host, port, is_plain } in &self.hosts {
            let found = (host.as_str(), 0).to_socket_addrs().map_err(|error| {
                StartFailure::Io(
                    "the address of -l",
                    io::Error::new(error.kind(), format!("{host}: {error}")),
                )
            })?;
            addresses.extend(found.map(|address| (address.ip(), *port, *is_plain, false)));
        }
        addresses.dedup();
        Ok(addresses)
    }

    /// `TCP INET: 11211` and so on, whole or not at all.
    fn write_ports(&self, doors: &Doors) -> Result<(), StartFailure> {
        let Some(path) = &self.ports_file else { return Ok(()) };
        let mut text = String::new();
        let mut add = |kind: &str, address: SocketAddr| {
            let family = if address.is_ipv6() { "INET6" } else { "INET" };
            text.push_str(&format!("{kind} {family}: {}\n", address.port()));
        };
        for listeners in &doors.streams {
            if let Address::Tcp(address) = listeners[0].address {
                add("TCP", address);
            }
        }
        for socket in &doors.datagrams {
            if let Ok(address) = socket.local_addr() {
                add("UDP", address);
            }
        }
        // Behind the whole name, as by Memcached: those of two servers may differ in what follows the last
        // dot, and one would rename the other's.
        let mut beside = path.as_os_str().to_owned();
        beside.push(".lck");
        std::fs::write(&beside, text)
            .and_then(|()| std::fs::rename(&beside, path))
            .map_err(|error| StartFailure::Io("the file of MEMCACHED_PORT_FILENAME", error))
    }
}

impl Doors {
    /// What `stats conns` shows of them.
    pub fn listening(&self) -> Vec<super::connections::Listening> {
        let mut all = Vec::new();
        for listeners in &self.streams {
            // One of the threads' sockets stands for all: they are the same address.
            let listener = &listeners[0];
            let name = match &listener.address {
                Address::Tcp(address) if address.is_ipv6() => format!("tcp6:{address}"),
                Address::Tcp(address) => format!("tcp:{address}"),
                Address::Unix(path) => format!("unix:{}", path.display()),
            };
            let fd = listener.socket.as_raw_fd();
            all.push(super::connections::Listening { fd, name, is_udp: false });
        }
        for socket in &self.datagrams {
            let Ok(address) = socket.local_addr() else { continue };
            let kind = if address.is_ipv6() { "udp6" } else { "udp" };
            let name = format!("{kind}:{address}");
            all.push(super::connections::Listening { fd: socket.as_raw_fd(), name, is_udp: true });
        }
        all
    }
}

fn bind_datagram(address: SocketAddr) -> io::Result<UdpSocket> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::CLOEXEC;
    let socket = rustix::net::socket_with(family, SocketType::DGRAM, flags, None)?;
    if address.is_ipv6() {
        rustix::net::sockopt::set_ipv6_v6only(&socket, true)?;
    }
    rustix::net::bind(&socket, &address)?;
    Ok(UdpSocket::from(socket))
}

fn is_socket(path: &std::path::Path) -> bool {
    use std::os::unix::fs::FileTypeExt;
    std::fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket())
}

fn is_no_address(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let code = error.raw_os_error();
    [Errno::AFNOSUPPORT, Errno::ADDRNOTAVAIL].iter().any(|e| code == Some(e.raw_os_error()))
}

fn door_failure(address: Address, flag: &'static str, error: io::Error) -> StartFailure {
    StartFailure::Door(DoorFailure { address, flag, error })
}
