//! Every refusal of the Memcached protocols, in the words of Memcached 1.6.18.

/// Why a command was not carried out. The connection goes on, unless the text says otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// No such command, or not in this form.
    Unknown,
    BadLine,
    BadDeleteLine,
    BadDataChunk,
    InvalidExptime,
    InvalidDelta,
    BadStatsLine,
    InvalidShutdownMode,
    /// The value is longer than the limit. Its data block is skipped.
    TooLarge,
    /// More keys than one retrieval may have.
    TooManyKeys,
    /// A line that is no retrieval has no end within 2,048 bytes. Answer and close.
    LineTooLong,
    /// Something else than a login, where that must come first.
    Unauthenticated,
    /// A login's block does not end as it must.
    BadTermination,
    // Meta commands.
    InvalidFlag,
    DuplicateFlag,
    InvalidOrDuplicateFlag,
    /// `mg` says "are", the others do not.
    TooManyFlagsGet,
    TooManyFlags,
    OpaqueTooLong,
    KeyEncoding,
    BadToken,
    ModeLength,
    InvalidSetMode,
    InvalidArithmeticMode,
    InvalidInitial,
    InvalidMetaDelta,
}

impl Refusal {
    /// The reply's line without its end.
    pub fn text(self) -> &'static str {
        match self {
            Self::Unknown => "ERROR",
            Self::BadLine => "CLIENT_ERROR bad command line format",
            Self::BadDeleteLine => {
                "CLIENT_ERROR bad command line format.  Usage: delete <key> [noreply]"
            }
            Self::BadDataChunk => "CLIENT_ERROR bad data chunk",
            Self::InvalidExptime => "CLIENT_ERROR invalid exptime argument",
            Self::InvalidDelta => "CLIENT_ERROR invalid numeric delta argument",
            Self::BadStatsLine => "CLIENT_ERROR bad command line",
            Self::InvalidShutdownMode => "CLIENT_ERROR invalid shutdown mode",
            Self::TooLarge => "SERVER_ERROR object too large for cache",
            Self::TooManyKeys => "SERVER_ERROR out of memory writing get response",
            Self::LineTooLong => "CLIENT_ERROR line too long",
            Self::Unauthenticated => "CLIENT_ERROR unauthenticated",
            Self::BadTermination => "CLIENT_ERROR bad command line termination",
            Self::InvalidFlag => "CLIENT_ERROR invalid flag",
            Self::DuplicateFlag => "CLIENT_ERROR duplicate flag",
            Self::InvalidOrDuplicateFlag => "CLIENT_ERROR invalid or duplicate flag",
            Self::TooManyFlagsGet => "CLIENT_ERROR options flags are too long",
            Self::TooManyFlags => "CLIENT_ERROR options flags too long",
            Self::OpaqueTooLong => "CLIENT_ERROR opaque token too long",
            Self::KeyEncoding => "CLIENT_ERROR error decoding key",
            Self::BadToken => "CLIENT_ERROR bad token in command line format",
            Self::ModeLength => "CLIENT_ERROR incorrect length for M token",
            Self::InvalidSetMode => "CLIENT_ERROR invalid mode for ms M token",
            Self::InvalidArithmeticMode => "CLIENT_ERROR invalid mode for ma M token",
            Self::InvalidInitial => "CLIENT_ERROR invalid numeric initial value",
            Self::InvalidMetaDelta => "CLIENT_ERROR invalid numeric delta value",
        }
    }

    /// Appends the reply, line end included.
    pub fn write(self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.text().as_bytes());
        out.extend_from_slice(b"\r\n");
    }
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.text())
    }
}

impl std::error::Error for Refusal {}
