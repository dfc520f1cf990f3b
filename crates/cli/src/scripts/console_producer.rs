//! `kafka-console-producer`: its flags, and how it takes a line apart.

use std::io::{self, IsTerminal as _, Write as _};

use bytes::Bytes;
use client::{ClientConfig, ClientError, Producer, ProducerConfig, ProducerRecord, Sent};
use wire::records::RecordHeader;

use super::java;
use super::options::{Flag, Misuse, Parsed, Script, flag, option, optional};
use crate::args::with_runtime;
use crate::commands::produce::{find, stdin_lines};
use crate::failure::Exit;
use crate::signals::StopSignals;

pub(super) const SCRIPT: Script = Script {
    about: "This script writes the lines of its input to a topic.",
    flags: &FLAGS,
    program: None,
};

const FLAGS: [Flag; 25] = [
    option(
        "batch-size",
        "Integer: bytes",
        "A batch is sent when it has this many bytes (default: 16384).",
    ),
    option(
        "bootstrap-server",
        "String: server to connect to",
        "REQUIRED: brokers to ask first, host:port,..",
    ),
    option(
        "command-config",
        "String: file",
        "A file with settings of the producer.",
    ),
    option(
        "command-property",
        "String: key=value",
        "A setting of the producer. Several times for several.",
    ),
    optional(
        "compression-codec",
        "String: codec",
        "none, gzip, snappy, lz4 or zstd; gzip when none is named.",
    ),
    option(
        "line-reader",
        "String: class",
        "How lines are read; only Kafka's own LineMessageReader is known here.",
    ),
    option(
        "max-block-ms",
        "Long: ms",
        "How long sending may wait for room and for metadata (default: 60000).",
    ),
    option(
        "max-memory-bytes",
        "Long: bytes",
        "The bytes of all records on their way (default: 33554432).",
    ),
    option(
        "max-partition-memory-bytes",
        "Integer: bytes",
        "(DEPRECATED) The old name of --batch-size.",
    ),
    option(
        "message-send-max-retries",
        "Integer: times",
        "How often a batch is sent again (default: 3).",
    ),
    option(
        "metadata-expiry-ms",
        "Long: ms",
        "How old metadata may become (default: 300000).",
    ),
    option(
        "producer-property",
        "String: key=value",
        "(DEPRECATED) The old name of --command-property.",
    ),
    option(
        "producer.config",
        "String: file",
        "(DEPRECATED) The old name of --command-config.",
    ),
    option(
        "property",
        "String: key=value",
        "(DEPRECATED) The old name of --reader-property.",
    ),
    option(
        "reader-config",
        "String: file",
        "A file with settings of the reader.",
    ),
    option(
        "reader-property",
        "String: key=value",
        "How lines are read: parse.key, parse.headers, key.separator, headers.delimiter, headers.separator, \
         headers.key.separator, ignore.error, null.marker.",
    ),
    option(
        "request-required-acks",
        "String: acks",
        "How many copies a record must have: -1, 1 or 0 (default: -1).",
    ),
    option(
        "request-timeout-ms",
        "Integer: ms",
        "How long a request may take (default: 1500).",
    ),
    option(
        "retry-backoff-ms",
        "Long: ms",
        "The pause before a retry (default: 100).",
    ),
    option(
        "socket-buffer-size",
        "Integer: bytes",
        "Accepted for compatibility; the kernel chooses.",
    ),
    flag("sync", "Wait for each record before the next is sent."),
    option(
        "timeout",
        "Long: ms",
        "How long a record waits for others to share its batch (default: 1000).",
    ),
    option("topic", "String: topic", "REQUIRED: the topic to write to."),
    option(
        "broker-list",
        "String",
        "Not supported since Kafka 4.0; use --bootstrap-server.",
    ),
    option("queue-size", "Integer", "Not supported since Kafka 4.0."),
];

/// Flags that stand for settings of the producer, with the script's own defaults.
const FLAG_SETTINGS: [(&str, &str, Option<&str>); 8] = [
    ("request-required-acks", "acks", None),
    ("timeout", "linger.ms", Some("1000")),
    ("max-memory-bytes", "buffer.memory", None),
    ("max-block-ms", "max.block.ms", None),
    ("message-send-max-retries", "retries", Some("3")),
    ("request-timeout-ms", "request.timeout.ms", Some("1500")),
    ("retry-backoff-ms", "retry.backoff.ms", None),
    ("metadata-expiry-ms", "metadata.max.age.ms", None),
];

pub(super) fn run(parsed: &Parsed) -> anyhow::Result<()> {
    let topic = parsed.require("topic")?.to_owned();
    parsed.require("bootstrap-server")?;
    let renamed = [
        ("producer-property", "command-property"),
        ("producer.config", "command-config"),
        ("property", "reader-property"),
    ];
    crate::output::text(&parsed.renamed(&renamed, "Warning:")?)?;
    let reader =
        LineReader::from_settings(&parsed.settings(&["reader-config"], &["reader-property", "property"])?)?;
    let (client_config, producer_config) = configs(parsed)?;
    with_runtime(async {
        let producer = Producer::new(client::Client::new(client_config)?, producer_config);
        let outcome = send(&producer, &reader, &topic, parsed.has("sync")).await;
        producer.close().await;
        outcome
    })
}

/// The settings: the script's defaults and flags, then the file's, then those given one by one.
fn configs(parsed: &Parsed) -> anyhow::Result<(ClientConfig, ProducerConfig)> {
    let mut client = ClientConfig {
        client_id: "console-producer".to_owned(),
        ..ClientConfig::default()
    };
    let mut producer = ProducerConfig::default();
    let mut settings: Vec<(String, String)> = Vec::new();
    for (flag, key, default) in FLAG_SETTINGS {
        let value = parsed.get(flag).or(default);
        settings.extend(value.map(|value| (key.to_owned(), value.to_owned())));
    }
    let batch_size = parsed
        .get("batch-size")
        .or(parsed.get("max-partition-memory-bytes"));
    settings.extend(batch_size.map(|bytes| ("batch.size".to_owned(), bytes.to_owned())));
    if parsed.has("compression-codec") {
        let codec = parsed.get("compression-codec").unwrap_or("gzip");
        settings.push(("compression.type".to_owned(), codec.to_owned()));
    }
    settings.extend(parsed.settings(
        &["producer.config", "command-config"],
        &["producer-property", "command-property"],
    )?);
    let servers = parsed.require("bootstrap-server")?;
    settings.push(("bootstrap.servers".to_owned(), servers.to_owned()));
    let pairs = settings.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    client::apply_settings(&mut [&mut producer, &mut client], pairs)?;
    Ok((client, producer))
}

/// Sends a record for each line. What cannot be delivered is reported and left out, as the script does; a line that
/// cannot be read ends it.
async fn send(producer: &Producer, reader: &LineReader, topic: &str, is_sync: bool) -> anyhow::Result<()> {
    let mut stop = StopSignals::listen()?;
    let mut lines = stdin_lines();
    let prompts = io::stdin().is_terminal();
    let mut number = 0;
    let mut reports = tokio::task::JoinSet::new();
    loop {
        if prompts {
            print!(">");
            io::stdout().flush()?;
        }
        let line = tokio::select! {
            line = lines.recv() => line,
            code = stop.stopped() => return Err(Exit(code).into()),
        };
        let Some(line) = line else {
            break;
        };
        number += 1;
        let record = reader.record(topic, &line?, number).map_err(|message| {
            eprintln!("org.apache.kafka.common.KafkaException: {message}");
            Exit(1)
        })?;
        let described = Described::of(&record);
        match producer.send(record).await {
            Ok(sent) if is_sync => {
                sent.await?;
            }
            Ok(sent) => {
                reports.spawn(report_failure(sent, topic.to_owned(), described));
                // Bounded: those that are done make room.
                while reports.try_join_next().is_some() {}
            }
            Err(error) if is_sync => return Err(error.into()),
            Err(error) => described.report(topic, &error),
        }
    }
    producer.flush().await;
    while reports.join_next().await.is_some() {}
    Ok(())
}

async fn report_failure(sent: Sent, topic: String, described: Described) {
    if let Err(error) = sent.await {
        described.report(&topic, &error);
    }
}

/// The sizes of a record, for the report of its failure.
#[derive(Clone, Copy, Debug)]
struct Described {
    key: Option<usize>,
    value: Option<usize>,
}

impl Described {
    fn of(record: &ProducerRecord) -> Described {
        Described {
            key: record.key.as_ref().map(Bytes::len),
            value: record.value.as_ref().map(Bytes::len),
        }
    }

    fn report(self, topic: &str, error: &ClientError) {
        let size = |size: Option<usize>| size.map_or("null".to_owned(), |bytes| format!("{bytes} bytes"));
        let (key, value) = (size(self.key), size(self.value));
        eprintln!(
            "ERROR Error when sending message to topic {topic} with key: {key}, value: {value} with error:"
        );
        eprintln!("{}", java::exception_of(error));
    }
}

/// Takes lines apart: headers, key and value, as far as they are to be parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
struct LineReader {
    parses_key: bool,
    parses_headers: bool,
    ignores_errors: bool,
    key_separator: String,
    headers_delimiter: String,
    headers_separator: String,
    header_key_separator: String,
    null_marker: Option<String>,
}

impl LineReader {
    fn from_settings(settings: &[(String, String)]) -> Result<LineReader, Misuse> {
        let get = |key: &str| {
            settings
                .iter()
                .find(|(known, _)| known == key)
                .map(|(_, value)| value.as_str())
        };
        let text = |key: &str, default: &str| get(key).unwrap_or(default).replace("\\t", "\t");
        let is_set = |key: &str| get(key).is_some_and(|value| value.trim().eq_ignore_ascii_case("true"));
        let reader = LineReader {
            parses_key: is_set("parse.key"),
            parses_headers: is_set("parse.headers"),
            ignores_errors: is_set("ignore.error"),
            key_separator: text("key.separator", "\t"),
            headers_delimiter: text("headers.delimiter", "\t"),
            headers_separator: text("headers.separator", ","),
            header_key_separator: text("headers.key.separator", ":"),
            null_marker: get("null.marker").map(str::to_owned),
        };
        for (name, value) in [
            ("headers.delimiter", &reader.headers_delimiter),
            ("headers.separator", &reader.headers_separator),
            ("headers.key.separator", &reader.header_key_separator),
            ("key.separator", &reader.key_separator),
        ] {
            if reader.null_marker.as_ref() == Some(value) {
                return Err(Misuse::plain(format!("null.marker and {name} may not be equal")));
            }
        }
        Ok(reader)
    }

    /// The record of a line; what is wrong with the line otherwise.
    fn record(&self, topic: &str, line: &[u8], number: u64) -> Result<ProducerRecord, String> {
        let missing = |what: &str| {
            let line = String::from_utf8_lossy(line);
            format!("No {what} found on line number {number}: '{line}'")
        };
        let mut rest = line;
        let mut part = |is_parsed: bool, separator: &str, what: &str| -> Result<Option<Vec<u8>>, String> {
            if !is_parsed {
                return Ok(None);
            }
            let Some(at) = find(rest, separator.as_bytes()) else {
                return if self.ignores_errors {
                    Ok(None)
                } else {
                    Err(missing(what))
                };
            };
            let taken = rest.get(..at).unwrap_or_default().to_vec();
            rest = rest.get(at + separator.len()..).unwrap_or_default();
            Ok(Some(taken))
        };
        let headers = part(self.parses_headers, &self.headers_delimiter, "headers delimiter")?;
        let key = part(self.parses_key, &self.key_separator, "key separator")?;
        let headers = headers.and_then(|headers| self.unless_null(headers));
        Ok(ProducerRecord {
            topic: topic.to_owned(),
            key: key.and_then(|key| self.unless_null(key)),
            value: self.unless_null(rest.to_vec()),
            headers: headers.map_or(Ok(Vec::new()), |headers| self.headers(&headers, number))?,
            ..ProducerRecord::default()
        })
    }

    fn unless_null(&self, bytes: Vec<u8>) -> Option<Bytes> {
        let is_null = self
            .null_marker
            .as_ref()
            .is_some_and(|marker| marker.as_bytes() == bytes);
        (!is_null).then(|| bytes.into())
    }

    fn headers(&self, text: &[u8], number: u64) -> Result<Vec<RecordHeader>, String> {
        let text = String::from_utf8_lossy(text);
        let header = |pair: &str| match pair.split_once(self.header_key_separator.as_str()) {
            Some((key, _)) if Some(key) == self.null_marker.as_deref() => Err(format!(
                "Header keys should not be equal to the null marker '{key}' as they can't be null"
            )),
            Some((key, value)) => Ok(RecordHeader {
                key: Bytes::copy_from_slice(key.as_bytes()),
                value: self.unless_null(value.as_bytes().to_vec()),
            }),
            None if self.ignores_errors => Ok(RecordHeader {
                key: Bytes::copy_from_slice(pair.as_bytes()),
                value: None,
            }),
            None => Err(format!(
                "No header key separator found in pair '{pair}' on line number {number}"
            )),
        };
        text.split(self.headers_separator.as_str()).map(header).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reader(settings: &[(&str, &str)]) -> LineReader {
        let settings: Vec<_> = settings
            .iter()
            .map(|(key, value)| (key.to_string(), value.to_string()))
            .collect();
        LineReader::from_settings(&settings).unwrap()
    }

    fn show(record: Result<ProducerRecord, String>) -> String {
        let text = |bytes: &Option<Bytes>| {
            bytes.as_ref().map_or("null".to_owned(), |bytes| {
                String::from_utf8_lossy(bytes).into_owned()
            })
        };
        match record {
            Ok(record) => {
                let headers = record.headers.iter();
                let headers = headers.map(|h| format!("{}={};", text(&Some(h.key.clone())), text(&h.value)));
                format!(
                    "[{}] {} {}",
                    headers.collect::<String>(),
                    text(&record.key),
                    text(&record.value)
                )
            }
            Err(message) => message,
        }
    }

    #[test]
    fn headers_key_and_value_stand_in_that_order() {
        let reader = reader(&[
            ("parse.key", "true"),
            ("parse.headers", "true"),
            ("null.marker", "NIL"),
        ]);
        let read = |line: &str| show(reader.record("t", line.as_bytes(), 3));
        assert_eq!(read("a:1,b:2\tk\tv"), "[a=1;b=2;] k v");
        assert_eq!(read("a:1,b:NIL\tNIL\tNIL"), "[a=1;b=null;] null null");
        assert_eq!(read("NIL\tk\tv\tw"), "[] k v\tw");
        assert_eq!(
            read("x\tk\tv"),
            "No header key separator found in pair 'x' on line number 3"
        );
        assert_eq!(
            read("a:1\tv"),
            "No key separator found on line number 3: 'a:1\tv'"
        );
        assert_eq!(
            read("plain"),
            "No headers delimiter found on line number 3: 'plain'"
        );
    }

    #[test]
    fn errors_can_be_ignored() {
        let reader = reader(&[
            ("parse.key", "true"),
            ("key.separator", ":"),
            ("ignore.error", "true"),
        ]);
        assert_eq!(show(reader.record("t", b"no key", 1)), "[] null no key");
    }

    #[test]
    fn flags_become_settings_and_properties_win() {
        let line = "--bootstrap-server h:1 --topic t --timeout 7 --compression-codec --producer-property acks=1 \
                    --request-required-acks 0 --max-memory-bytes 5000";
        let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let (client, producer) = configs(&SCRIPT.parse(&arguments).unwrap()).unwrap();
        assert_eq!(client.bootstrap_servers, ["h:1"]);
        assert_eq!(client.request_timeout.as_millis(), 1500);
        assert_eq!((producer.linger.as_millis(), producer.retries), (7, 3));
        assert_eq!(producer.acks, client::Acks::Leader);
        assert_eq!(producer.compression, wire::records::Codec::Gzip);
        assert_eq!(producer.buffer_memory, 5000);
    }

    #[test]
    fn a_null_marker_that_is_a_separator_is_refused() {
        let settings = [("null.marker".to_owned(), ",".to_owned())];
        let error = LineReader::from_settings(&settings).unwrap_err();
        assert_eq!(
            error.to_string(),
            "null.marker and headers.separator may not be equal"
        );
    }
}
