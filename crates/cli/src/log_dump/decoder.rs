//! What the keys and values of records say, by the topic they are in.

use bytes::Bytes;
use metadata::MetadataRecord;
use wire::internal::kinds::{GROUP_RECORDS, RecordKind, SHARE_STATE_RECORDS, TRANSACTION_RECORDS};
use wire::records::Record;

/// How contents are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decoder {
    /// As text, or as numbers.
    Text { key: Text, value: Text },
    /// As records of `__consumer_offsets`.
    Groups,
    /// As records of `__transaction_state`.
    Transactions,
    /// As records of `__share_group_state`.
    ShareState,
    /// As records of `__cluster_metadata`.
    Metadata,
}

/// What the bytes of an application's key or value are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Text {
    String,
    Integer,
    Long,
    Double,
}

impl Decoder {
    /// Keys and values as text.
    pub(crate) const STRINGS: Decoder = Decoder::Text {
        key: Text::String,
        value: Text::String,
    };

    /// The decoder for the topic whose partition has this folder.
    pub(crate) fn for_folder(folder: &str) -> Decoder {
        match folder.rsplit_once('-').map_or(folder, |(topic, _)| topic) {
            model::CONSUMER_OFFSETS => Decoder::Groups,
            model::TRANSACTION_STATE => Decoder::Transactions,
            model::SHARE_GROUP_STATE => Decoder::ShareState,
            model::CLUSTER_METADATA => Decoder::Metadata,
            _ => Decoder::STRINGS,
        }
    }

    /// ` key: .. payload: ..`, as far as there is something to show.
    pub(super) fn content(self, record: &Record) -> String {
        let (key, payload) = match self {
            Decoder::Text { key, value } => (
                record.key.as_ref().map(|bytes| key.read(bytes)),
                record.value.as_ref().map(|bytes| value.read(bytes)),
            ),
            Decoder::Groups => coordinator(GROUP_RECORDS, record),
            Decoder::Transactions => coordinator(TRANSACTION_RECORDS, record),
            Decoder::ShareState => coordinator(SHARE_STATE_RECORDS, record),
            Decoder::Metadata => (None, Some(metadata_record(record))),
        };
        let key = key.map(|key| format!(" key: {key}")).unwrap_or_default();
        let payload = payload
            .map(|payload| format!(" payload: {payload}"))
            .unwrap_or_default();
        key + &payload
    }
}

impl Text {
    fn read(self, bytes: &Bytes) -> String {
        let number = match self {
            Text::String => None,
            Text::Integer => bytes
                .first_chunk()
                .map(|bytes| i32::from_be_bytes(*bytes).to_string()),
            Text::Long => bytes
                .first_chunk()
                .map(|bytes| i64::from_be_bytes(*bytes).to_string()),
            Text::Double => bytes
                .first_chunk()
                .map(|bytes| format!("{:?}", f64::from_be_bytes(*bytes))),
        };
        number.unwrap_or_else(|| String::from_utf8_lossy(bytes).into_owned())
    }
}

/// A record of a coordinator's topic: key and value as JSON.
fn coordinator(kinds: &'static [RecordKind], record: &Record) -> (Option<String>, Option<String>) {
    let offset = record.offset;
    let Some(key) = &record.key else {
        return (
            Some(format!(
                "Error at offset {offset}, skipping. the record has no key"
            )),
            None,
        );
    };
    let kind = match RecordKind::find(kinds, key) {
        Ok(kind) => kind,
        Err(_) => {
            let kind = key.first_chunk().map_or(-1, |kind| i16::from_be_bytes(*kind));
            return (
                Some(format!(
                    "Unknown record type {kind} at offset {offset}, skipping."
                )),
                None,
            );
        }
    };
    let decoded = kind.key_to_value(key.clone()).and_then(|data| {
        let key = format!("{{\"type\":\"{}\",\"data\":{data}}}", kind.key);
        let value = match &record.value {
            Some(value) => {
                let (version, data) = kind.value_to_value(value.clone())?;
                format!("{{\"version\":\"{version}\",\"data\":{data}}}")
            }
            None => "<DELETE>".to_owned(),
        };
        Ok((key, value))
    });
    match decoded {
        Ok((key, value)) => (Some(key), Some(value)),
        Err(error) => (Some(format!("Error at offset {offset}, skipping. {error}")), None),
    }
}

fn metadata_record(record: &Record) -> String {
    let value = record.value.clone().unwrap_or_default();
    match MetadataRecord::decode(value) {
        Ok((version, record)) => record.to_json(version),
        Err(error) => format!("Error at {}, skipping. {error}", record.offset),
    }
}
