//! One record of the metadata log: a kind, a version, and the message, behind KRaft's framing.
//!
//! A record this version does not know is an error, never skipped: an image that lacks a record is not the truth.

use bytes::Bytes;
use wire::internal::metadata_log as log;
use wire::{DecodeError, EncodeError, Keyed, Message, Reader, Value, Writer};

use crate::image::Features;

/// The version of the framing itself.
const FRAME_VERSION: u32 = 1;

/// Why bytes are not a record of the metadata log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// A record without a value.
    #[error("a record of the metadata log has no value")]
    NoValue,
    /// A framing from a later time.
    #[error("unknown frame version {0}; this version reads {FRAME_VERSION}")]
    Frame(u32),
    /// A kind from a later time.
    #[error("unknown kind of metadata record {kind}; a newer version wrote this log, start that one")]
    Kind {
        /// The number of the kind.
        kind: u32,
    },
    /// A version from a later time, or none.
    #[error("unknown version {version} of {name}; a newer version wrote this log, start that one")]
    Version {
        /// The name of the record.
        name: &'static str,
        /// The version.
        version: u32,
    },
    /// The message itself.
    #[error("metadata record: {0}")]
    Decode(#[from] DecodeError),
    /// Bytes after the message.
    #[error("{0} bytes after the end of a metadata record")]
    Trailing(usize),
}

/// Which versions of the records to write: those that every node of the cluster can read, by `metadata.version`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordVersions {
    register_broker: i16,
    partition: i16,
    cordoned_log_dirs: bool,
}

impl RecordVersions {
    /// The versions for a level of `metadata.version`.
    pub fn at(metadata_version: i16) -> RecordVersions {
        RecordVersions {
            register_broker: match metadata_version {
                30.. => 4,
                17..=29 => 3,
                8..=16 => 2,
                7 => 1,
                _ => 0,
            },
            partition: match metadata_version {
                23.. => 2,
                17..=22 => 1,
                _ => 0,
            },
            cordoned_log_dirs: metadata_version >= 30,
        }
    }

    /// The versions for the levels in force; before the log has one, those of the highest.
    pub fn of(features: &Features) -> RecordVersions {
        RecordVersions::at(
            features
                .metadata_version()
                .unwrap_or(crate::image::METADATA_VERSION_MAX),
        )
    }

    /// A change of a registration is written at the lowest version that has its fields.
    fn registration_change(self, record: &log::BrokerRegistrationChangeRecord) -> i16 {
        if self.cordoned_log_dirs && record.cordoned_log_dirs.is_some() {
            3
        } else if !record.log_dirs.is_empty() {
            2
        } else {
            i16::from(record.in_controlled_shutdown != 0)
        }
    }
}

macro_rules! metadata_records {
    ($($variant:ident($record:ident),)*) => {
        /// A record of the metadata log: every kind that Apache Kafka 4.3.1 knows.
        #[derive(Clone, Debug, PartialEq)]
        pub enum MetadataRecord {
            $(#[doc = stringify!($record)] $variant(log::$record),)*
        }

        impl MetadataRecord {
            /// The number of the kind.
            pub fn kind(&self) -> i16 {
                match self {
                    $(MetadataRecord::$variant(_) => <log::$record as Keyed>::KEY,)*
                }
            }

            /// Kafka's name of the kind, such as `TopicRecord`.
            pub fn name(&self) -> &'static str {
                match self {
                    $(MetadataRecord::$variant(_) => <log::$record as Message>::NAME,)*
                }
            }

            /// The record as data that describes itself, for people to read.
            pub fn to_value(&self, version: i16) -> Value {
                match self {
                    $(MetadataRecord::$variant(record) => record.to_value(version),)*
                }
            }

            fn decode_body(kind: u32, version: u32, reader: &mut Reader) -> Result<MetadataRecord, RecordError> {
                $(if i64::from(kind) == i64::from(<log::$record as Keyed>::KEY) {
                    let known = i16::try_from(version)
                        .ok()
                        .filter(|version| <log::$record as Message>::form(*version).is_some());
                    let name = <log::$record as Message>::NAME;
                    let known = known.ok_or(RecordError::Version { name, version })?;
                    return Ok(MetadataRecord::$variant(log::$record::decode(reader, known)?));
                })*
                Err(RecordError::Kind { kind })
            }

            fn encode_body(&self, writer: &mut Writer, version: i16) -> Result<(), EncodeError> {
                match self {
                    $(MetadataRecord::$variant(record) => record.encode(writer, version),)*
                }
            }
        }

        $(impl From<log::$record> for MetadataRecord {
            fn from(record: log::$record) -> MetadataRecord {
                MetadataRecord::$variant(record)
            }
        })*
    };
}

metadata_records! {
    RegisterBroker(RegisterBrokerRecord),
    UnregisterBroker(UnregisterBrokerRecord),
    Topic(TopicRecord),
    Partition(PartitionRecord),
    Config(ConfigRecord),
    PartitionChange(PartitionChangeRecord),
    FenceBroker(FenceBrokerRecord),
    UnfenceBroker(UnfenceBrokerRecord),
    RemoveTopic(RemoveTopicRecord),
    DelegationToken(DelegationTokenRecord),
    UserScramCredential(UserScramCredentialRecord),
    FeatureLevel(FeatureLevelRecord),
    ClientQuota(ClientQuotaRecord),
    ProducerIds(ProducerIdsRecord),
    BrokerRegistrationChange(BrokerRegistrationChangeRecord),
    AccessControlEntry(AccessControlEntryRecord),
    RemoveAccessControlEntry(RemoveAccessControlEntryRecord),
    NoOp(NoOpRecord),
    ZkMigrationState(ZkMigrationStateRecord),
    RemoveUserScramCredential(RemoveUserScramCredentialRecord),
    BeginTransaction(BeginTransactionRecord),
    EndTransaction(EndTransactionRecord),
    AbortTransaction(AbortTransactionRecord),
    RemoveDelegationToken(RemoveDelegationTokenRecord),
    RegisterController(RegisterControllerRecord),
    ClearElr(ClearElrRecord),
}

impl MetadataRecord {
    /// Reads a record's value, and the version it was written at.
    pub fn decode(value: Bytes) -> Result<(i16, MetadataRecord), RecordError> {
        let mut reader = Reader::new(value);
        let frame = reader.read_unsigned_varint()?;
        if frame != FRAME_VERSION {
            return Err(RecordError::Frame(frame));
        }
        let kind = reader.read_unsigned_varint()?;
        let version = reader.read_unsigned_varint()?;
        let record = MetadataRecord::decode_body(kind, version, &mut reader)?;
        match reader.remaining() {
            // The version fits: `decode_body` found a form for it.
            0 => Ok((i16::try_from(version).unwrap_or_default(), record)),
            trailing => Err(RecordError::Trailing(trailing)),
        }
    }

    /// The version this record is written at.
    pub fn version(&self, versions: RecordVersions) -> i16 {
        match self {
            MetadataRecord::RegisterBroker(_) => versions.register_broker,
            MetadataRecord::Partition(_) | MetadataRecord::PartitionChange(_) => versions.partition,
            MetadataRecord::BrokerRegistrationChange(record) => versions.registration_change(record),
            _ => 0,
        }
    }

    /// The record's value.
    pub fn encode(&self, versions: RecordVersions) -> Result<Bytes, EncodeError> {
        let version = self.version(versions);
        let mut writer = Writer::new();
        writer.put_unsigned_varint(FRAME_VERSION);
        writer.put_unsigned_varint(u32::from(self.kind().unsigned_abs()));
        writer.put_unsigned_varint(u32::from(version.unsigned_abs()));
        self.encode_body(&mut writer, version)?;
        writer
            .into_bytes()
            .map_err(|error| EncodeError::Unreadable(error.kind()))
    }

    /// The record in JSON on one line, as Kafka's tools print it.
    pub fn to_json(&self, version: i16) -> String {
        let kind = screaming_snake_case(self.name());
        format!(
            "{{\"type\":\"{kind}\",\"version\":{version},\"data\":{}}}",
            self.to_value(version)
        )
    }
}

fn screaming_snake_case(name: &str) -> String {
    let mut out = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !out.is_empty() {
            out.push('_');
        }
        out.push(letter.to_ascii_uppercase());
    }
    out
}
