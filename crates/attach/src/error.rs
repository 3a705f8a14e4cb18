//! What can go wrong for an attached client, in sentences to act on.

use dolium_engine::arena::ArenaError;
use dolium_engine::ring::hello::Refusal;
use dolium_protocol::resp::reply::ReplyError;
use std::io::ErrorKind;
use std::path::PathBuf;

#[derive(Debug)]
pub enum Error {
    /// Nobody listens at the attach socket.
    Connect {
        path: PathBuf,
        error: std::io::Error,
    },
    /// What answered is not a Dolium server.
    NotDolium {
        path: PathBuf,
    },
    /// What listens has closed the connection before it had said anything: a server that ends, or another
    /// program.
    HungUp {
        path: PathBuf,
    },
    /// Somebody listens and does not answer: a server that is stopped or has much to do, or another
    /// program.
    Silent {
        path: PathBuf,
    },
    /// What the server handed over could not be taken.
    NoDescriptors,
    /// The server answered, and the answer is no.
    Refused(Refusal),
    Arena(ArenaError),
    Ring(std::io::Error),
    /// The server is gone. Reads go on; commands cannot.
    ServerGone,
    /// The server runs, and has closed the connection of this process.
    Closed,
    /// The server did not answer a command within the time that the store gives it.
    TimedOut,
    /// An earlier command was given up before its reply had come, so that no later reply could be told
    /// from it.
    OutOfStep,
    /// The arena was opened without a server, so no command can be executed.
    NoServer,
    /// Writers won against this read too often, and the server could not be asked for it: also where that
    /// is because of [`Error::Forked`], [`Error::ServerGone`], [`Error::Closed`], [`Error::OutOfStep`] or
    /// [`Error::NoServer`], which are for commands. The read may be tried again.
    Contended,
    /// This process is a child of the one that attached.
    Forked,
    /// A transaction is being queued through a handle of another database.
    OtherTransaction {
        open: u16,
        asked: u16,
    },
    /// SELECT outside of MULTI: what is executed next runs in the database of its handle all the same.
    Selects,
    /// A command without a word.
    NoCommand,
    /// The key is there, but holds no string.
    WrongType,
    /// The store has fewer databases.
    NoSuchDatabase {
        asked: u16,
        databases: u16,
    },
    /// A command that answers later, or not at all, or more than once.
    NotARequest(&'static str),
    /// The name is no command's: a line of a web request begins so, and a server answers it to nobody.
    OfTheWeb(&'static str),
    Reply(ReplyError),
    /// The server refused a command that stands for a read of the arena.
    Command(String),
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Error::Connect { path, error } => {
                write!(f, "cannot attach at {}: {error}{}", path.display(), advice(error.kind()))
            }
            Error::NotDolium { path } => write!(
                f,
                "what listens at {} does not answer as a Dolium server; attach-socket names a \
                 socket of its own, not the one for Redis clients",
                path.display()
            ),
            Error::HungUp { path } => write!(
                f,
                "what listened at {} closed the connection before it had said anything: a Dolium server \
                 that is stopping, or another program (attach-socket names a socket of its own, not the \
                 one for Redis clients); try again",
                path.display()
            ),
            Error::Silent { path } => write!(
                f,
                "somebody listens at {} and does not answer: a Dolium server that is stopped or \
                 has much to do, or another program",
                path.display()
            ),
            Error::NoDescriptors => f.write_str(
                "the server's memory was handed over and could not be taken: this process has as \
                 many files open as it may (ulimit -n)",
            ),
            Error::Refused(why) => why.fmt(f),
            Error::Arena(error) => error.fmt(f),
            Error::Ring(error) => write!(f, "the ring to the server cannot be used: {error}"),
            Error::ServerGone => f.write_str(
                "the server is gone: reads go on in the memory that it left, commands cannot; \
                 attach again when it is back",
            ),
            Error::Closed => f.write_str(
                "the server has closed the connection of this process (CLIENT KILL, a limit for \
                 what waits to be read, or it is stopping): reads go on, commands cannot; attach again",
            ),
            Error::TimedOut => f.write_str(
                "the server has not answered in the time that it was given; it may still run the \
                 command. Reads go on; for commands attach again",
            ),
            Error::OutOfStep => f.write_str(
                "an earlier command was given up before its reply had come, and no reply can be told \
                 from that one any more: reads go on; for commands attach again",
            ),
            Error::NoServer => {
                f.write_str("this arena was opened without a server, which commands need")
            }
            Error::Contended => f.write_str(
                "what is to be read is written to faster than that, and the server could not be \
                 asked (it is gone, there was none, it has no such question, its connection is closed or \
                 the parent's, or a MULTI of this process is open); try again",
            ),
            Error::Forked => f.write_str(
                "this process was forked after attaching: attach again in the child, which may \
                 read but not execute commands through its parent's ring",
            ),
            Error::OtherTransaction { open, asked } => write!(
                f,
                "a MULTI of this process is open in database {open}, and would take in this \
                 command for database {asked}: EXEC or DISCARD it first, or attach once more"
            ),
            Error::Selects => f.write_str(
                "SELECT chooses nothing here, as each command runs in the database of the handle that \
                 executes it: Store::db, in C dolium_db, gives a handle of another one. It was not sent",
            ),
            Error::NoCommand => {
                f.write_str("a command has at least one word, its name; none was given")
            }
            Error::WrongType => f.write_str(
                "the key holds no string: `type` says what, and `execute` runs the commands for it",
            ),
            Error::NoSuchDatabase { asked, databases } => {
                write!(f, "there is no database {asked}: this store has 0 to {}", databases - 1)
            }
            Error::NotARequest(name) => write!(
                f,
                "{name} does not answer once and at once, as what is executed must; it needs a \
                 connection of its own, as redis-cli has"
            ),
            Error::OfTheWeb(name) => write!(
                f,
                "{name} is no command but a word of web requests, for which a server closes the \
                 connection: web pages must not have anything run. It was not sent"
            ),
            Error::Reply(error) => error.fmt(f),
            Error::Command(text) => f.write_str(text),
        }
    }
}

/// What to do where nobody could be connected to.
fn advice(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::NotFound | ErrorKind::ConnectionRefused => {
            "; no server listens there: start one with `dolium`, or name the attach-socket of the one \
             that runs"
        }
        ErrorKind::PermissionDenied => {
            "; the file system does not let this user connect: attach-socket-perm says who may"
        }
        _ => "",
    }
}

impl std::error::Error for Error {}
