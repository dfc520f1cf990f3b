//! Kafka's formatters of records: the default one with its properties, and those of the internal topics.

use bytes::Bytes;
use client::ConsumerRecord;
use wire::internal::kinds::{GROUP_RECORDS, RecordKind, TRANSACTION_RECORDS};
use wire::records::TimestampType;

use super::options::Misuse;

/// A way to print a record.
#[derive(Clone, Debug)]
pub(super) enum Formatter {
    /// By properties.
    Default(Columns),
    /// Not at all.
    Nothing,
    /// As the record of an internal topic: kinds whose keys are of these types.
    Internal {
        kinds: &'static [RecordKind],
        shown: &'static [i16],
    },
}

/// What the default formatter prints.
#[derive(Clone, Debug)]
pub(super) struct Columns {
    timestamp: bool,
    partition: bool,
    offset: bool,
    epoch: bool,
    headers: bool,
    key: bool,
    value: bool,
    key_separator: Vec<u8>,
    line_separator: Vec<u8>,
    headers_separator: Vec<u8>,
    null_literal: Vec<u8>,
    key_type: Type,
    value_type: Type,
    header_type: Type,
}

/// What bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Type {
    Bytes,
    Short,
    Integer,
    Long,
    Float,
    Double,
}

impl Type {
    fn of_deserializer(class: &str) -> Result<Type, Misuse> {
        match class.rsplit('.').next().unwrap_or(class) {
            "StringDeserializer" | "ByteArrayDeserializer" | "BytesDeserializer" => Ok(Type::Bytes),
            "ShortDeserializer" => Ok(Type::Short),
            "IntegerDeserializer" => Ok(Type::Integer),
            "LongDeserializer" => Ok(Type::Long),
            "FloatDeserializer" => Ok(Type::Float),
            "DoubleDeserializer" => Ok(Type::Double),
            _ => Err(Misuse::plain(format!(
                "{class} cannot be loaded here; known are Kafka's deserializers of strings, bytes and numbers"
            ))),
        }
    }

    fn write(self, bytes: &[u8], out: &mut Vec<u8>) {
        let number = match self {
            Type::Bytes => None,
            Type::Short => bytes.try_into().ok().map(|b| i16::from_be_bytes(b).to_string()),
            Type::Integer => bytes.try_into().ok().map(|b| i32::from_be_bytes(b).to_string()),
            Type::Long => bytes.try_into().ok().map(|b| i64::from_be_bytes(b).to_string()),
            Type::Float => bytes
                .try_into()
                .ok()
                .map(|b| format!("{:?}", f32::from_be_bytes(b))),
            Type::Double => bytes
                .try_into()
                .ok()
                .map(|b| format!("{:?}", f64::from_be_bytes(b))),
        };
        match number {
            Some(number) => out.extend_from_slice(number.as_bytes()),
            // Bytes of another length than the number has are shown as they are.
            None => out.extend_from_slice(bytes),
        }
    }
}

impl Formatter {
    /// The formatter of a class, by its name, with its properties.
    pub(super) fn new(class: Option<&str>, settings: &[(String, String)]) -> Result<Formatter, Misuse> {
        match class.map(|class| class.rsplit('.').next().unwrap_or(class)) {
            None | Some("DefaultMessageFormatter" | "LoggingMessageFormatter") => {
                Columns::new(settings).map(Formatter::Default)
            }
            Some("NoOpMessageFormatter") => Ok(Formatter::Nothing),
            Some("OffsetsMessageFormatter") => Ok(Formatter::Internal {
                kinds: GROUP_RECORDS,
                shown: &[0, 1],
            }),
            Some("GroupMetadataMessageFormatter") => Ok(Formatter::Internal {
                kinds: GROUP_RECORDS,
                shown: &[2],
            }),
            Some("TransactionLogMessageFormatter") => Ok(Formatter::Internal {
                kinds: TRANSACTION_RECORDS,
                shown: &[0],
            }),
            Some(other) => Err(Misuse::plain(format!(
                "{other} cannot be loaded here; known are Kafka's Default, Logging, NoOp, Offsets, GroupMetadata and \
                 TransactionLog MessageFormatter"
            ))),
        }
    }

    /// Appends a record.
    pub(super) fn write(&self, record: &ConsumerRecord, out: &mut Vec<u8>) {
        match self {
            Formatter::Default(columns) => columns.write(record, out),
            Formatter::Nothing => {}
            Formatter::Internal { kinds, shown } => {
                let json = record
                    .key
                    .as_ref()
                    .and_then(|key| internal(kinds, shown, key, record.value.as_ref()));
                out.extend_from_slice(json.unwrap_or_default().as_bytes());
            }
        }
    }
}

/// A record of an internal topic as JSON; `None` for one that is not to be shown.
fn internal(
    kinds: &'static [RecordKind],
    shown: &[i16],
    key: &Bytes,
    value: Option<&Bytes>,
) -> Option<String> {
    let kind = RecordKind::find(kinds, key)
        .ok()
        .filter(|kind| shown.contains(&kind.key))?;
    let key_data = kind.key_to_value(key.clone()).ok()?;
    let value = match value {
        None => "null".to_owned(),
        Some(value) => {
            let (version, data) = kind.stored_value(value.clone()).ok()?;
            format!("{{\"version\":{version},\"data\":{data}}}")
        }
    };
    Some(format!(
        "{{\"key\":{{\"type\":{},\"data\":{key_data}}},\"value\":{value}}}",
        kind.key
    ))
}

impl Columns {
    fn new(settings: &[(String, String)]) -> Result<Columns, Misuse> {
        let get = |key: &str| {
            settings
                .iter()
                .rev()
                .find(|(known, _)| known == key)
                .map(|(_, value)| value.as_str())
        };
        let is_shown = |key: &str, default: bool| {
            get(key).map_or(default, |value| value.trim().eq_ignore_ascii_case("true"))
        };
        let text = |key: &str, default: &str| {
            let value = get(key).unwrap_or(default);
            value.replace("\\t", "\t").replace("\\n", "\n").into_bytes()
        };
        let deserializer = |key: &str| get(key).map_or(Ok(Type::Bytes), Type::of_deserializer);
        Ok(Columns {
            timestamp: is_shown("print.timestamp", false),
            partition: is_shown("print.partition", false),
            offset: is_shown("print.offset", false),
            epoch: is_shown("print.epoch", false),
            headers: is_shown("print.headers", false),
            key: is_shown("print.key", false),
            value: is_shown("print.value", true),
            key_separator: text("key.separator", "\t"),
            line_separator: text("line.separator", "\n"),
            headers_separator: text("headers.separator", ","),
            null_literal: text("null.literal", "null"),
            key_type: deserializer("key.deserializer")?,
            value_type: deserializer("value.deserializer")?,
            header_type: deserializer("headers.deserializer")?,
        })
    }

    fn write(&self, record: &ConsumerRecord, out: &mut Vec<u8>) {
        let mut columns: Vec<Vec<u8>> = Vec::new();
        if self.timestamp {
            columns.push(timestamp(record).into_bytes());
        }
        if self.partition {
            columns.push(format!("Partition:{}", record.partition.partition).into_bytes());
        }
        if self.offset {
            columns.push(format!("Offset:{}", record.offset).into_bytes());
        }
        if self.epoch {
            // Kafka's consumer does not pass the epoch on to its formatter.
            columns.push(b"Epoch:NOT_PRESENT".to_vec());
        }
        if self.headers {
            columns.push(self.headers(record));
        }
        if self.key {
            columns.push(self.typed(self.key_type, record.key.as_ref()));
        }
        if self.value {
            columns.push(self.typed(self.value_type, record.value.as_ref()));
        }
        if !columns.is_empty() {
            out.extend_from_slice(&columns.join(self.key_separator.as_slice()));
            out.extend_from_slice(&self.line_separator);
        }
    }

    fn typed(&self, bytes_are: Type, bytes: Option<&Bytes>) -> Vec<u8> {
        let Some(bytes) = bytes else {
            return self.null_literal.clone();
        };
        let mut out = Vec::with_capacity(bytes.len());
        bytes_are.write(bytes, &mut out);
        out
    }

    fn headers(&self, record: &ConsumerRecord) -> Vec<u8> {
        if record.headers.is_empty() {
            return b"NO_HEADERS".to_vec();
        }
        let headers: Vec<Vec<u8>> = record
            .headers
            .iter()
            .map(|header| {
                [
                    &header.key[..],
                    b":",
                    &self.typed(self.header_type, header.value.as_ref()),
                ]
                .concat()
            })
            .collect();
        headers.join(self.headers_separator.as_slice())
    }
}

fn timestamp(record: &ConsumerRecord) -> String {
    match record.timestamp_type {
        Some(TimestampType::CreateTime) => format!("CreateTime:{}", record.timestamp),
        Some(TimestampType::LogAppendTime) => format!("LogAppendTime:{}", record.timestamp),
        None => "NO_TIMESTAMP".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use model::TopicPartition;
    use wire::records::RecordHeader;

    use super::*;

    fn record() -> ConsumerRecord {
        ConsumerRecord {
            partition: TopicPartition::new("t", 3),
            offset: 42,
            timestamp: 1000,
            timestamp_type: Some(TimestampType::CreateTime),
            leader_epoch: 7,
            key: Some(Bytes::from_static(&[0, 0, 0, 5])),
            value: None,
            headers: vec![
                RecordHeader {
                    key: Bytes::from_static(b"a"),
                    value: Some(Bytes::from_static(b"1")),
                },
                RecordHeader {
                    key: Bytes::from_static(b"b"),
                    value: None,
                },
            ],
        }
    }

    fn print(class: Option<&str>, settings: &str, record: &ConsumerRecord) -> String {
        let settings: Vec<(String, String)> = settings
            .split_whitespace()
            .filter_map(|pair| pair.split_once('='))
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect();
        let mut out = Vec::new();
        Formatter::new(class, &settings).unwrap().write(record, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn all_columns_stand_in_the_scripts_order() {
        let settings = "print.value=true print.key=true print.headers=true print.epoch=true print.offset=true \
                        print.partition=true print.timestamp=true \
                        key.deserializer=org.apache.kafka.common.serialization.IntegerDeserializer null.literal=NIL";
        let expected = "CreateTime:1000\tPartition:3\tOffset:42\tEpoch:NOT_PRESENT\ta:1,b:NIL\t5\tNIL\n";
        assert_eq!(print(None, settings, &record()), expected);
    }

    #[test]
    fn separators_can_be_chosen() {
        let mut record = record();
        record.headers.clear();
        let settings = "print.headers=true key.separator=: line.separator=\\t";
        assert_eq!(print(None, settings, &record), "NO_HEADERS:null\t");
        assert_eq!(
            print(
                Some("org.apache.kafka.tools.consumer.NoOpMessageFormatter"),
                "",
                &record
            ),
            ""
        );
    }

    #[test]
    fn a_class_that_is_not_there_is_named() {
        let error = Formatter::new(Some("com.example.Avro"), &[]).unwrap_err();
        assert!(error.to_string().contains("Avro cannot be loaded here"));
    }

    #[test]
    fn a_committed_offset_is_printed_as_json_without_a_line_end() {
        let mut key = vec![0, 1];
        for text in ["g", "t"] {
            key.extend_from_slice(&1i16.to_be_bytes());
            key.extend_from_slice(text.as_bytes());
        }
        key.extend_from_slice(&2i32.to_be_bytes());
        let record = ConsumerRecord {
            key: Some(key.into()),
            value: None,
            ..record()
        };
        let class = Some("org.apache.kafka.tools.consumer.OffsetsMessageFormatter");
        let expected = r#"{"key":{"type":1,"data":{"group":"g","topic":"t","partition":2}},"value":null}"#;
        assert_eq!(print(class, "", &record), expected);
        assert_eq!(print(Some("GroupMetadataMessageFormatter"), "", &record), "");
    }
}
