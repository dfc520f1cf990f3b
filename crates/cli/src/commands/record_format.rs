//! How `gracchus consume` prints a record: a template, or a JSON object a line.

use bytes::Bytes;
use client::ConsumerRecord;
use serde_json::{Value, json};

/// A template: text with places for the parts of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Template {
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(Vec<u8>),
    Topic,
    Partition,
    Offset,
    Timestamp,
    Epoch,
    Headers,
    Key,
    Value,
}

impl Template {
    /// Reads a template: `%t` topic, `%p` partition, `%o` offset, `%T` timestamp, `%e` leader epoch, `%h` headers, `%k`
    /// key, `%v` value, `%%` a percent sign, and `\n`, `\t`, `\r`, `\0`, `\\`.
    pub(crate) fn parse(text: &str) -> Result<Template, String> {
        let mut pieces = Vec::new();
        let mut plain = String::new();
        let mut letters = text.chars();
        while let Some(letter) = letters.next() {
            match letter {
                '%' => {
                    let piece = match letters.next() {
                        Some('%') => {
                            plain.push('%');
                            continue;
                        }
                        Some('t') => Piece::Topic,
                        Some('p') => Piece::Partition,
                        Some('o') => Piece::Offset,
                        Some('T') => Piece::Timestamp,
                        Some('e') => Piece::Epoch,
                        Some('h') => Piece::Headers,
                        Some('k') => Piece::Key,
                        Some('v' | 's') => Piece::Value,
                        other => {
                            let given = other.map(String::from).unwrap_or_default();
                            return Err(format!(
                                "`%{given}` stands for nothing; expected %t %p %o %T %e %h %k %v"
                            ));
                        }
                    };
                    if !plain.is_empty() {
                        pieces.push(Piece::Text(std::mem::take(&mut plain).into_bytes()));
                    }
                    pieces.push(piece);
                }
                '\\' => plain.push(match letters.next() {
                    Some('n') => '\n',
                    Some('t') => '\t',
                    Some('r') => '\r',
                    Some('0') => '\0',
                    Some('\\') => '\\',
                    other => {
                        return Err(format!(
                            "`\\{}` stands for nothing",
                            other.map(String::from).unwrap_or_default()
                        ));
                    }
                }),
                letter => plain.push(letter),
            }
        }
        if !plain.is_empty() {
            pieces.push(Piece::Text(plain.into_bytes()));
        }
        Ok(Template { pieces })
    }

    /// Appends a record. What is absent shows as `null`.
    pub(crate) fn write(&self, record: &ConsumerRecord, out: &mut Vec<u8>) {
        let bytes = |value: &Option<Bytes>, out: &mut Vec<u8>| {
            out.extend_from_slice(value.as_deref().unwrap_or(b"null"))
        };
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => out.extend_from_slice(text),
                Piece::Topic => out.extend_from_slice(record.partition.topic.as_bytes()),
                Piece::Partition => out.extend_from_slice(record.partition.partition.to_string().as_bytes()),
                Piece::Offset => out.extend_from_slice(record.offset.to_string().as_bytes()),
                Piece::Timestamp => out.extend_from_slice(record.timestamp.to_string().as_bytes()),
                Piece::Epoch => out.extend_from_slice(record.leader_epoch.to_string().as_bytes()),
                Piece::Headers => {
                    for (index, header) in record.headers.iter().enumerate() {
                        if index > 0 {
                            out.push(b',');
                        }
                        out.extend_from_slice(&header.key);
                        out.push(b'=');
                        bytes(&header.value, out);
                    }
                }
                Piece::Key => bytes(&record.key, out),
                Piece::Value => bytes(&record.value, out),
            }
        }
    }
}

/// A record as JSON. Bytes that are no text stand in base64 under `{"base64": ..}`.
pub(crate) fn json(record: &ConsumerRecord) -> Value {
    let headers: Vec<Value> = record
        .headers
        .iter()
        .map(|header| json!({ "key": text(&Some(header.key.clone())), "value": text(&header.value) }))
        .collect();
    json!({
        "topic": &*record.partition.topic,
        "partition": record.partition.partition,
        "offset": record.offset,
        "timestamp": record.timestamp,
        "headers": headers,
        "key": text(&record.key),
        "value": text(&record.value),
    })
}

fn text(bytes: &Option<Bytes>) -> Value {
    let Some(bytes) = bytes else {
        return Value::Null;
    };
    match std::str::from_utf8(bytes) {
        Ok(text) => text.into(),
        Err(_) => {
            // The form in which messages print their bytes, without its quotes.
            let quoted = wire::Value::Bytes(bytes.clone()).to_string();
            json!({ "base64": quoted.trim_matches('"') })
        }
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
            timestamp_type: None,
            leader_epoch: 7,
            key: None,
            value: Some(Bytes::from_static(b"v\xff")),
            headers: vec![RecordHeader {
                key: Bytes::from_static(b"h"),
                value: Some(Bytes::from_static(b"1")),
            }],
        }
    }

    #[test]
    fn a_template_puts_every_part_in_its_place() {
        let template = Template::parse("%t-%p@%o %T e%e %h %k=%v 100%%\\n").unwrap();
        let mut out = Vec::new();
        template.write(&record(), &mut out);
        assert_eq!(out, b"t-3@42 1000 e7 h=1 null=v\xff 100%\n");
    }

    #[test]
    fn a_letter_that_stands_for_nothing_is_named() {
        assert!(Template::parse("%q").unwrap_err().contains("`%q`"));
        assert!(Template::parse("%").is_err());
        assert!(Template::parse("\\x").is_err());
    }

    #[test]
    fn bytes_that_are_no_text_are_base64_in_json() {
        let json = json(&record());
        assert_eq!(json["value"]["base64"], "dv8=");
        assert_eq!(json["key"], Value::Null);
        assert_eq!(json["headers"][0]["value"], "1");
    }
}
