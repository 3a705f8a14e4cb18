//! Statuses of a response, with the texts that Memcached sends beside them.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u16)]
pub enum Status {
    Ok = 0,
    NotFound = 1,
    Exists = 2,
    TooLarge = 3,
    Invalid = 4,
    NotStored = 5,
    NonNumeric = 6,
    AuthError = 0x20,
    AuthContinue = 0x21,
    UnknownCommand = 0x81,
    NoMemory = 0x82,
}

impl Status {
    pub fn text(self) -> &'static str {
        match self {
            Status::Ok | Status::AuthContinue => "",
            Status::NotFound => "Not found",
            Status::Exists => "Data exists for key.",
            Status::TooLarge => "Too large.",
            Status::Invalid => "Invalid arguments",
            Status::NotStored => "Not stored.",
            Status::NonNumeric => "Non-numeric server-side value for incr or decr",
            Status::AuthError => "Auth failure.",
            Status::UnknownCommand => "Unknown command",
            Status::NoMemory => "Out of memory",
        }
    }
}
