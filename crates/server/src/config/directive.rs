//! What a directive is: one row of the table in [`super::table`].

/// What values a directive takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `yes` or `no`.
    Bool,
    Int {
        min: i64,
        max: i64,
    },
    /// Any number from 0 to 2^31 - 1, brought into this range.
    Clamped {
        min: i64,
        max: i64,
    },
    /// A number of bytes, with units: `1gb`, `512mb`, `64k`.
    Bytes {
        min: i64,
        max: i64,
    },
    /// As `Bytes`; a negative number is a percentage of `maxmemory`.
    BytesOrPercent,
    Text,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// Permission bits, written in octal; 0 leaves them alone.
    Octal,
    /// Several words in one value: `tls-protocols TLSv1.2 TLSv1.3`.
    Words,
    /// IP addresses and what stands for them, each behind a dash or not: `127.0.0.1 -::1`.
    Addresses,
    /// Percentages with fractions, several in one value.
    Percentiles,
    /// What a signal to stop asks for: `nosave force`.
    ShutdownWays,
    /// Three numbers from -2000 to 2000.
    OomScores,
    /// Pairs of seconds and changes: `save 3600 1 300 100`, or `""` for none.
    Save,
    /// `normal|replica|pubsub HARD SOFT SECONDS`, several in one value.
    OutputLimits,
    /// Letters of keyspace notifications.
    Notify,
}

impl Kind {
    /// May its value be several words, without quotes in a file?
    pub const fn takes_words(self) -> bool {
        matches!(
            self,
            Kind::Words
                | Kind::Addresses
                | Kind::Percentiles
                | Kind::ShutdownWays
                | Kind::OomScores
                | Kind::Save
                | Kind::OutputLimits
        )
    }
}

/// What a directive's value brings about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// What its sentence says.
    Acts,
    /// Nothing: the value is kept for tools that read or set it.
    None,
    /// Values that promise what is not there are refused; the other one changes nothing.
    Refused,
}

#[derive(Clone, Copy, Debug)]
pub struct Directive {
    pub name: &'static str,
    /// The name before Redis 5 or of Redis' newer versions, still understood.
    pub alias: &'static str,
    pub kind: Kind,
    pub default: &'static str,
    /// May CONFIG SET change it while the server runs?
    pub mutable: bool,
    pub effect: Effect,
    pub help: &'static str,
}

impl Directive {
    pub const fn new(name: &'static str, kind: Kind, default: &'static str) -> Self {
        let effect = Effect::Acts;
        Directive { name, alias: "", kind, default, mutable: true, effect, help: "" }
    }

    pub const fn fixed(mut self) -> Self {
        self.mutable = false;
        self
    }

    pub const fn alias(mut self, alias: &'static str) -> Self {
        self.alias = alias;
        self
    }

    pub const fn of(mut self, effect: Effect) -> Self {
        self.effect = effect;
        self
    }

    pub const fn help(mut self, help: &'static str) -> Self {
        self.help = help;
        self
    }
}
