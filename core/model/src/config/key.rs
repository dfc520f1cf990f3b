//! What is known of a key: its type, its default, what it may be, where it applies and who may change it.

/// The type of a value, under the names and numbers of DescribeConfigs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `true` or `false`.
    Boolean = 1,
    /// A text.
    String = 2,
    /// A whole number of 32 bits.
    Int = 3,
    /// A whole number of 16 bits.
    Short = 4,
    /// A whole number of 64 bits.
    Long = 5,
    /// A number with a fraction.
    Double = 6,
    /// Texts separated by commas.
    List = 7,
    /// The name of a Java class.
    Class = 8,
    /// A text that is never shown.
    Password = 9,
}

impl Kind {
    /// The word Kafka's tools print for the type.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Boolean => "boolean",
            Kind::String => "string",
            Kind::Int => "int",
            Kind::Short => "short",
            Kind::Long => "long",
            Kind::Double => "double",
            Kind::List => "list",
            Kind::Class => "class",
            Kind::Password => "password",
        }
    }
}

/// What a value may be, beyond its type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Valid {
    /// Whatever the type takes.
    Any,
    /// Not the empty text.
    NotEmpty,
    /// From the first to the second, both included.
    Between(i64, i64),
    /// From `least` to `most`, or the one number `or`.
    BetweenOr {
        /// The smallest.
        least: i64,
        /// The largest.
        most: i64,
        /// The number allowed beside them.
        or: i64,
    },
    /// A number with a fraction, from the first to the second.
    Fraction(f64, f64),
    /// One of these texts.
    OneOf(&'static [&'static str]),
    /// One of these texts, upper or lower case.
    OneOfAnyCase(&'static [&'static str]),
    /// A list of these texts, each at most once; possibly none.
    ListOf(&'static [&'static str]),
    /// `*`, or a list of `partition:broker`.
    ThrottledReplicas,
    /// `latest`, `earliest` or `by_duration:` with an ISO 8601 duration.
    OffsetReset,
}

/// What a key belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// A node; read from `server.properties`.
    Broker,
    /// A topic.
    Topic,
    /// A group.
    Group,
    /// A subscription to client metrics.
    ClientMetrics,
}

/// How a value may change while the node runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Update {
    /// Only by a restart.
    ReadOnly,
    /// For one broker.
    PerBroker,
    /// For one broker or for all of them.
    ClusterWide,
    /// For the topic or the group it belongs to.
    PerResource,
}

/// The broker keys from which a topic's or a group's key takes its default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Synonyms {
    /// None: the default is the table's.
    None,
    /// One, in the same unit.
    Same(&'static str),
    /// The first of these that is set, each with the milliseconds of its unit.
    Units(&'static [(&'static str, i64)]),
}

/// One key of the configuration.
#[derive(Debug)]
pub struct ConfigKey {
    /// What it belongs to.
    pub scope: Scope,
    /// Its name, as in a properties file.
    pub name: &'static str,
    /// Its type.
    pub kind: Kind,
    /// Its value when nobody sets it; `None` for none.
    pub default: Option<&'static str>,
    /// What it may be.
    pub valid: Valid,
    /// How it may change.
    pub update: Update,
    /// Where a topic's or group's key takes its default from.
    pub synonyms: Synonyms,
    /// What it does; empty for a key nothing acts on yet.
    pub doc: &'static str,
}

impl ConfigKey {
    /// Whether anything acts on the key. One that is not honoured is still checked, kept and shown.
    pub fn is_honoured(&self) -> bool {
        !self.doc.is_empty()
    }

    /// Whether its value must never be shown or logged.
    pub fn is_sensitive(&self) -> bool {
        self.kind == Kind::Password
    }

    /// The doc to show, also for a key nothing acts on yet.
    pub fn documentation(&self) -> &'static str {
        if self.is_honoured() {
            self.doc
        } else {
            "Known and checked, but without effect in this version."
        }
    }
}
