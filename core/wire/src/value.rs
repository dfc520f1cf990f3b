//! Messages as data that describes itself, for tools: names and values of the fields a version has.

use std::fmt::{self, Write as _};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use bytestring::ByteString;
use model::Uuid;

/// A field's value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Null.
    Null,
    /// A boolean.
    Bool(bool),
    /// An integer of any width.
    Int(i64),
    /// A floating-point number.
    Float(f64),
    /// A string.
    String(ByteString),
    /// Bytes, or record batches.
    Bytes(Bytes),
    /// A 128-bit id.
    Uuid(Uuid),
    /// An array.
    Array(Vec<Value>),
    /// A struct.
    Struct(Vec<Member>),
}

/// A field of a struct.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// The name, in snake case.
    pub name: &'static str,
    /// The value.
    pub value: Value,
    /// Whether the field is absent from the wire: a tagged one that has its default.
    pub is_omitted: bool,
}

impl Member {
    /// A field that always stands on the wire.
    pub fn new(name: &'static str, value: Value) -> Member {
        Member {
            name,
            value,
            is_omitted: false,
        }
    }
}

impl Value {
    /// The value of a struct's field.
    pub fn get(&self, name: &str) -> Option<&Value> {
        let Value::Struct(members) = self else {
            return None;
        };
        let member = members.iter().find(|member| member.name == name)?;
        Some(&member.value)
    }

    /// The value of a struct's field, to be changed.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut Value> {
        let Value::Struct(members) = self else {
            return None;
        };
        let member = members.iter_mut().find(|member| member.name == name)?;
        Some(&mut member.value)
    }
}

/// JSON on one line as Kafka's tools print it: names in camel case, bytes in base64, ids in their URL-safe form,
/// tagged fields only where they are on the wire.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Null => f.write_str("null"),
            Value::Bool(value) => write!(f, "{value}"),
            Value::Int(value) => write!(f, "{value}"),
            Value::Float(value) => write_float(f, *value),
            Value::String(text) => write_text(f, text),
            Value::Bytes(bytes) => write!(f, "\"{}\"", STANDARD.encode(bytes)),
            Value::Uuid(id) => write!(f, "\"{id}\""),
            Value::Array(elements) => {
                f.write_char('[')?;
                for (index, element) in elements.iter().enumerate() {
                    let comma = if index > 0 { "," } else { "" };
                    write!(f, "{comma}{element}")?;
                }
                f.write_char(']')
            }
            Value::Struct(members) => {
                f.write_char('{')?;
                let shown = members.iter().filter(|member| !member.is_omitted);
                for (index, member) in shown.enumerate() {
                    f.write_str(if index > 0 { ",\"" } else { "\"" })?;
                    write_camel_case(f, member.name)?;
                    write!(f, "\":{}", member.value)?;
                }
                f.write_char('}')
            }
        }
    }
}

fn write_camel_case(f: &mut fmt::Formatter<'_>, name: &str) -> fmt::Result {
    let mut words = name.split('_');
    f.write_str(words.next().unwrap_or_default())?;
    for word in words {
        let mut letters = word.chars();
        if let Some(first) = letters.next() {
            f.write_char(first.to_ascii_uppercase())?;
        }
        f.write_str(letters.as_str())?;
    }
    Ok(())
}

fn write_text(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    f.write_char('"')?;
    for letter in text.chars() {
        match letter {
            '"' => f.write_str("\\\"")?,
            '\\' => f.write_str("\\\\")?,
            '\n' => f.write_str("\\n")?,
            '\r' => f.write_str("\\r")?,
            '\t' => f.write_str("\\t")?,
            '\u{8}' => f.write_str("\\b")?,
            '\u{c}' => f.write_str("\\f")?,
            '\0'..='\u{1f}' => write!(f, "\\u{:04X}", u32::from(letter))?,
            _ => f.write_char(letter)?,
        }
    }
    f.write_char('"')
}

/// A number as Java prints a double: always with a fraction, in scientific form from 10^7 on and below 10^-3.
fn write_float(f: &mut fmt::Formatter<'_>, value: f64) -> fmt::Result {
    let size = value.abs();
    if value.is_nan() {
        f.write_str("\"NaN\"")
    } else if value.is_infinite() {
        f.write_str(if value > 0.0 {
            "\"Infinity\""
        } else {
            "\"-Infinity\""
        })
    } else if size == 0.0 || (1e-3..1e7).contains(&size) {
        write!(f, "{value:?}")
    } else {
        let text = format!("{value:E}");
        match text.split_once('E') {
            Some((digits, exponent)) if !digits.contains('.') => write!(f, "{digits}.0E{exponent}"),
            _ => f.write_str(&text),
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::Value;
    use crate::internal::metadata_log::{
        BrokerRegistrationChangeRecord, PartitionRecord, UserScramCredentialRecord,
    };
    use crate::internal::transactions::{PartitionsSchema, TransactionLogValue};
    use crate::message::Message as _;

    #[test]
    fn a_transactions_state_prints_as_in_kafkas_dump() {
        let state = TransactionLogValue {
            producer_id: 1,
            previous_producer_id: 1,
            transaction_timeout_ms: 60_000,
            transaction_status: 1,
            transaction_partitions: Some(vec![PartitionsSchema {
                topic: "transactions".into(),
                partition_ids: vec![0],
            }]),
            transaction_last_update_timestamp_ms: 1_795_988_965_951,
            transaction_start_timestamp_ms: -1,
            ..TransactionLogValue::default()
        };
        let expected = r#"{"producerId":1,"previousProducerId":1,"producerEpoch":0,"transactionTimeoutMs":60000,"transactionStatus":1,"transactionPartitions":[{"topic":"transactions","partitionIds":[0]}],"transactionLastUpdateTimestampMs":1795988965951,"transactionStartTimestampMs":-1}"#;
        assert_eq!(state.to_value(1).to_string(), expected);
    }

    #[test]
    fn tagged_fields_print_where_they_are_on_the_wire() {
        let partition = PartitionRecord {
            partition_id: 3,
            replicas: vec![1],
            isr: vec![1],
            directories: vec![model::Uuid([0xff; 16])],
            eligible_leader_replicas: Some(vec![2]),
            ..PartitionRecord::default()
        };
        let expected = r#"{"partitionId":3,"topicId":"AAAAAAAAAAAAAAAAAAAAAA","replicas":[1],"isr":[1],"removingReplicas":[],"addingReplicas":[],"leader":-1,"leaderEpoch":-1,"partitionEpoch":-1,"directories":["_____________________w"],"eligibleLeaderReplicas":[2]}"#;
        assert_eq!(partition.to_value(2).to_string(), expected);
        let change = BrokerRegistrationChangeRecord {
            broker_id: 1,
            fenced: -1,
            ..BrokerRegistrationChangeRecord::default()
        };
        assert_eq!(
            change.to_value(3).to_string(),
            r#"{"brokerId":1,"brokerEpoch":0,"fenced":-1}"#
        );
    }

    #[test]
    fn bytes_print_in_base64() {
        let credential = UserScramCredentialRecord {
            salt: Bytes::from_static(b"ab"),
            ..UserScramCredentialRecord::default()
        };
        let value = credential.to_value(0);
        assert_eq!(value.get("salt"), Some(&Value::Bytes(Bytes::from_static(b"ab"))));
        assert!(value.to_string().contains(r#""salt":"YWI=""#));
    }

    #[test]
    fn text_is_escaped() {
        let text = Value::String("a\"\\\n\u{1}\u{1f}ä".into());
        assert_eq!(text.to_string(), "\"a\\\"\\\\\\n\\u0001\\u001Fä\"");
    }

    #[test]
    fn numbers_print_as_java_prints_doubles() {
        let printed = [
            0.0,
            -1.5,
            1e7,
            123_456_789.0,
            1.0e-3,
            0.00099,
            f64::MAX,
            f64::NAN,
            f64::INFINITY,
        ];
        let printed = Value::Array(printed.map(Value::Float).into());
        let expected =
            r#"[0.0,-1.5,1.0E7,1.23456789E8,0.001,9.9E-4,1.7976931348623157E308,"NaN","Infinity"]"#;
        assert_eq!(printed.to_string(), expected);
    }
}
