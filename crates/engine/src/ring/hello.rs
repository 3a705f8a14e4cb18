//! The first words over an attach socket, as bytes. Who sends them where is not said here.
//!
//! ```text
//! client -> server   magic u64 | version u32 | 0 u32                               16 bytes
//! server -> client   magic u64 | version u32 | status u32 | server's pid u64       24 bytes
//!                    and with status 0, as SCM_RIGHTS: the arena (read-only), the ring
//! ```
//!
//! After that each byte on the socket, in either direction, is a doorbell (see `end.rs`), and its
//! end is the end of the other process.

const MAGIC: u64 = u64::from_le_bytes(*b"DOLIUMAT");
/// Changes when any of: these messages, the ring, the arena's layout, changes incompatibly.
pub const VERSION: u32 = 1;

/// Where a server's attach socket is if nobody says otherwise: in the user's runtime folder, which
/// nobody else can enter, or else in /tmp under a name of the user's own.
pub fn default_path(runtime_folder: Option<&std::ffi::OsStr>, user: u32) -> std::path::PathBuf {
    match runtime_folder.filter(|folder| !folder.is_empty()) {
        Some(folder) => std::path::Path::new(folder).join("dolium.attach"),
        None => format!("/tmp/dolium-{user}.attach").into(),
    }
}

/// Bytes of a client's hello.
pub const HELLO_BYTES: usize = 16;
/// Bytes of a server's welcome.
pub const WELCOME_BYTES: usize = 24;

/// The server's answer to a hello.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Welcome {
    /// Two descriptors come with it: the arena and the ring.
    Come {
        server_pid: u64,
    },
    Refused(Refusal),
}

/// Why a server does not let a client attach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Refusal {
    /// The client speaks another version of this protocol.
    Version = 1,
    /// The configuration does not let this user attach.
    Permission = 2,
    /// As many clients as `maxclients` allows are there already.
    TooMany = 3,
    /// The server could not make the ring.
    NoMemory = 4,
    /// As many processes are attached as the server has rings for.
    TooManyAttached = 5,
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Refusal::Version => {
                "the server speaks another version of the attach protocol; use the dolium that the \
                 server was started from"
            }
            Refusal::Permission => {
                "the server does not let this user attach; attaching means reading everything, so \
                 only the server's own user and root may"
            }
            Refusal::TooMany => "the server has no room for another client (see maxclients)",
            Refusal::TooManyAttached => {
                "256 processes are attached to the server already, and it has no more rings: let one \
                 of them detach, attach before forking (children may read), or use a socket"
            }
            Refusal::NoMemory => "the server could not make a ring for this client",
        })
    }
}

impl std::error::Error for Refusal {}

/// The bytes of a client's hello.
pub fn hello() -> [u8; HELLO_BYTES] {
    let mut bytes = [0; HELLO_BYTES];
    bytes[..8].copy_from_slice(&MAGIC.to_le_bytes());
    bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
    bytes
}

/// Checks a client's hello. `None`: not a hello at all, hang up.
pub fn check_hello(bytes: &[u8; HELLO_BYTES]) -> Option<Result<(), Refusal>> {
    if u64_at(bytes, 0) != MAGIC {
        return None;
    }
    Some(if u32_at(bytes, 8) == VERSION { Ok(()) } else { Err(Refusal::Version) })
}

impl Welcome {
    pub fn encode(self) -> [u8; WELCOME_BYTES] {
        let (status, pid) = match self {
            Welcome::Come { server_pid } => (0, server_pid),
            Welcome::Refused(why) => (why as u32, 0),
        };
        let mut bytes = [0; WELCOME_BYTES];
        bytes[..8].copy_from_slice(&MAGIC.to_le_bytes());
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        bytes[12..16].copy_from_slice(&status.to_le_bytes());
        bytes[16..].copy_from_slice(&pid.to_le_bytes());
        bytes
    }

    /// `None`: not the answer of a dolium server.
    pub fn decode(bytes: &[u8; WELCOME_BYTES]) -> Option<Welcome> {
        if u64_at(bytes, 0) != MAGIC {
            return None;
        }
        Some(match u32_at(bytes, 12) {
            0 if u32_at(bytes, 8) == VERSION => Welcome::Come { server_pid: u64_at(bytes, 16) },
            2 => Welcome::Refused(Refusal::Permission),
            3 => Welcome::Refused(Refusal::TooMany),
            4 => Welcome::Refused(Refusal::NoMemory),
            5 => Welcome::Refused(Refusal::TooManyAttached),
            _ => Welcome::Refused(Refusal::Version),
        })
    }
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_welcome_survives_the_wire() {
        let refused = [
            Refusal::Version,
            Refusal::Permission,
            Refusal::TooMany,
            Refusal::NoMemory,
            Refusal::TooManyAttached,
        ];
        let all = refused.map(Welcome::Refused);
        for welcome in all.into_iter().chain([Welcome::Come { server_pid: 77 }]) {
            assert_eq!(Welcome::decode(&welcome.encode()), Some(welcome));
        }
        assert_eq!(Welcome::decode(&[0; WELCOME_BYTES]), None);
    }

    #[test]
    fn only_a_hello_is_a_hello() {
        assert_eq!(check_hello(&hello()), Some(Ok(())));
        let mut other = hello();
        other[8] ^= 1;
        assert_eq!(check_hello(&other), Some(Err(Refusal::Version)));
        assert_eq!(check_hello(b"GET / HTTP/1.1\r\n"), None);
    }
}
