//! `kafka-dump-log`: its flags. What it prints is what [`crate::log_dump`] prints.

use std::path::PathBuf;

use super::options::{Flag, Misuse, Parsed, Script, flag, option, optional};
use crate::commands::log::dump_files;
use crate::log_dump::{Decoder, Indexes, Options, Records, Text, Texts};

pub(super) const SCRIPT: Script = Script {
    about: "This script prints the files of a data directory.",
    flags: &FLAGS,
    program: None,
};

const FLAGS: [Flag; 15] = [
    flag(
        "cluster-metadata-decoder",
        "Read contents as records of the cluster's metadata.",
    ),
    flag("deep-iteration", "Print records, not batches alone."),
    option(
        "files",
        "String: file1, file2, ...",
        "REQUIRED: the files, separated by commas.",
    ),
    flag(
        "index-sanity-check",
        "Only look whether a broker would rebuild an index.",
    ),
    optional(
        "key-decoder-class",
        "String",
        "How keys are read: one of Kafka's decoders of text and numbers.",
    ),
    option(
        "max-bytes",
        "Integer: size",
        "Read at most so many bytes of each log.",
    ),
    option(
        "max-message-size",
        "Integer: size",
        "Accepted for compatibility; messages of any size are read.",
    ),
    flag(
        "offsets-decoder",
        "Read contents as records of __consumer_offsets.",
    ),
    flag("print-data-log", "Print keys and values."),
    flag(
        "remote-log-metadata-decoder",
        "Not supported: there is no tiered storage here.",
    ),
    flag(
        "share-group-state-decoder",
        "Read contents as records of __share_group_state.",
    ),
    flag("skip-record-metadata", "Print keys and values only."),
    flag(
        "transaction-log-decoder",
        "Read contents as records of __transaction_state.",
    ),
    optional(
        "value-decoder-class",
        "String",
        "How values are read: one of Kafka's decoders of text and numbers.",
    ),
    flag(
        "verify-index-only",
        "Compare indexes with their logs, and print only what does not agree.",
    ),
];

pub(super) fn run(parsed: &Parsed) -> anyhow::Result<()> {
    let files = parsed.require("files")?;
    let options = options(parsed)?;
    let files: Vec<PathBuf> = files.split(',').map(|file| PathBuf::from(file.trim())).collect();
    dump_files(&files, |_| options)
}

fn options(parsed: &Parsed) -> Result<Options, Misuse> {
    if parsed.has("remote-log-metadata-decoder") {
        return Err(Misuse::plain(
            "--remote-log-metadata-decoder is not supported: there is no tiered storage here",
        ));
    }
    let decoders = [
        ("offsets-decoder", Decoder::Groups),
        ("transaction-log-decoder", Decoder::Transactions),
        ("cluster-metadata-decoder", Decoder::Metadata),
        ("share-group-state-decoder", Decoder::ShareState),
    ];
    let by_topic = decoders
        .iter()
        .find(|(name, _)| parsed.has(name))
        .map(|(_, decoder)| *decoder);
    let names_classes = parsed.has("value-decoder-class") || parsed.has("key-decoder-class");
    let decoder = match by_topic {
        Some(decoder) => decoder,
        None => Decoder::Text {
            key: text(parsed.get("key-decoder-class"))?,
            value: text(parsed.get("value-decoder-class"))?,
        },
    };
    let prints_contents = parsed.has("print-data-log") || by_topic.is_some() || names_classes;
    Ok(Options {
        records: if prints_contents {
            Records::Contents(decoder)
        } else if parsed.has("deep-iteration") {
            Records::Outlines
        } else {
            Records::None
        },
        without_metadata: parsed.has("skip-record-metadata"),
        max_bytes: parsed
            .number::<u64>("max-bytes")?
            .filter(|bytes| *bytes < i32::MAX.unsigned_abs().into()),
        indexes: if parsed.has("index-sanity-check") {
            Indexes::SanityCheck
        } else if parsed.has("verify-index-only") {
            Indexes::Verify
        } else {
            Indexes::Print
        },
        texts: Texts::Ignore,
    })
}

fn text(class: Option<&str>) -> Result<Text, Misuse> {
    match class.map(|class| class.rsplit('.').next().unwrap_or(class)) {
        None | Some("StringDecoder" | "DefaultDecoder") => Ok(Text::String),
        Some("IntegerDecoder") => Ok(Text::Integer),
        Some("LongDecoder") => Ok(Text::Long),
        Some("DoubleDecoder") => Ok(Text::Double),
        Some(other) => Err(Misuse::plain(format!(
            "Failed to load decoder class {other}; known are Kafka's String, Integer, Long and Double decoders"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Parsed {
        let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        SCRIPT.parse(&arguments).unwrap()
    }

    #[test]
    fn a_decoder_prints_contents_without_being_asked_to() {
        let records = |line: &str| options(&parsed(line)).unwrap().records;
        assert_eq!(records("--files f"), Records::None);
        assert_eq!(records("--files f --deep-iteration"), Records::Outlines);
        assert_eq!(
            records("--files f --print-data-log"),
            Records::Contents(Decoder::STRINGS)
        );
        assert_eq!(
            records("--files f --offsets-decoder"),
            Records::Contents(Decoder::Groups)
        );
        let long = "--files f --value-decoder-class org.apache.kafka.tools.api.LongDecoder";
        let expected = Decoder::Text {
            key: Text::String,
            value: Text::Long,
        };
        assert_eq!(records(long), Records::Contents(expected));
    }

    #[test]
    fn a_class_that_is_not_there_is_named() {
        let error = options(&parsed("--files f --value-decoder-class x.y.Z")).unwrap_err();
        assert!(error.to_string().contains("decoder class Z"), "{error}");
    }
}
