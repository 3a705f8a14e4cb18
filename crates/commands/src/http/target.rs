//! From a request's path and query to what it names.

use dolium_engine::Db;
use dolium_protocol::http::{Method, Request, percent_decode};
use dolium_protocol::number::parse_digits;

/// What a key understands, as `Allow` says it; of all that is here it understands the most.
pub(super) const KEY_METHODS: &str = "GET, HEAD, PUT, DELETE, OPTIONS";
const PAGE_METHODS: &str = "GET, HEAD, OPTIONS";

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// `*`: what OPTIONS asks of the server itself.
    Server,
    Home,
    Health,
    Metrics,
    Key {
        db: Db,
        name: Vec<u8>,
    },
}

/// Why a target names nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TargetError {
    Unknown,
    NoName,
    BadEscape,
    BadDatabase,
}

impl TargetError {
    pub(super) fn status(self) -> u16 {
        match self {
            TargetError::Unknown => 404,
            TargetError::NoName | TargetError::BadEscape | TargetError::BadDatabase => 400,
        }
    }

    pub(super) fn text(self) -> &'static str {
        match self {
            TargetError::Unknown => {
                "There is nothing here: keys are at /keys/NAME, and / says how to use them."
            }
            TargetError::NoName => "Name a key behind /keys/.",
            TargetError::BadEscape => "A % in a path must be followed by two hexadecimal digits.",
            TargetError::BadDatabase => "db must be the number of a database of this server.",
        }
    }
}

impl Target {
    /// What it understands, as `Allow` says it; of the server, what some target or other does.
    pub(super) fn methods(&self) -> &'static str {
        match self {
            Target::Server | Target::Key { .. } => KEY_METHODS,
            Target::Home | Target::Health | Target::Metrics => PAGE_METHODS,
        }
    }

    pub(super) fn read(request: &Request<'_>, databases: u16) -> Result<Target, TargetError> {
        let name = match request.path {
            b"*" if request.method == Method::Options => return Ok(Target::Server),
            b"/" => return Ok(Target::Home),
            b"/healthz" => return Ok(Target::Health),
            b"/metrics" => return Ok(Target::Metrics),
            path => path.strip_prefix(b"/keys/").ok_or(TargetError::Unknown)?,
        };
        if name.is_empty() {
            return Err(TargetError::NoName);
        }
        let mut decoded = Vec::with_capacity(name.len());
        percent_decode(name, &mut decoded).map_err(|_| TargetError::BadEscape)?;
        Ok(Target::Key { db: database(request.query, databases)?, name: decoded })
    }
}

/// `db=N`, 0 without it; other parameters are not ours.
fn database(query: Option<&[u8]>, databases: u16) -> Result<Db, TargetError> {
    let mut parameters = query.unwrap_or_default().split(|byte| *byte == b'&');
    let Some(number) = parameters.find_map(|parameter| parameter.strip_prefix(b"db=")) else {
        return Ok(Db(0));
    };
    match parse_digits(number) {
        Some(number) if number < u64::from(databases) => Ok(Db(number as u16)),
        _ => Err(TargetError::BadDatabase),
    }
}
