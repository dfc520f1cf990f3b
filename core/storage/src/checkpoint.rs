//! Kafka's checkpoint files: a version, a count, and as many lines (rule 98).

use std::collections::BTreeMap;

use model::{Offset, TopicPartition, validate_topic_name};

const VERSION: &str = "0";

/// Why a checkpoint file cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} is not {expected}")]
pub struct CheckpointError {
    line: usize,
    expected: &'static str,
}

/// Parses the lines of a checkpoint. The file must be whole: the count is the number of lines.
pub(crate) fn parse_lines<T>(
    content: &[u8],
    parse: impl Fn(&[&str]) -> Option<T>,
) -> Result<Vec<T>, CheckpointError> {
    let wrong = |line, expected| CheckpointError { line, expected };
    let text = std::str::from_utf8(content).map_err(|_| wrong(1, "text"))?;
    let mut lines = text.lines();
    if lines.next() != Some(VERSION) {
        return Err(wrong(1, "the version 0"));
    }
    let count = lines
        .next()
        .and_then(|line| line.parse::<usize>().ok())
        .ok_or(wrong(2, "a count"))?;
    let mut entries = Vec::new();
    for (index, line) in lines.enumerate() {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        entries.push(parse(&fields).ok_or(wrong(index + 3, "an entry"))?);
    }
    match entries.len() == count {
        true => Ok(entries),
        false => Err(wrong(2, "the number of entries")),
    }
}

/// The text of a checkpoint.
pub(crate) fn render_lines(lines: impl Iterator<Item = String>) -> String {
    let mut body = String::new();
    let mut count = 0;
    for line in lines {
        body.push_str(&line);
        body.push('\n');
        count += 1;
    }
    format!("{VERSION}\n{count}\n{body}")
}

/// An offset for each partition.
pub type OffsetMap = BTreeMap<TopicPartition, Offset>;

/// Reads a checkpoint of offsets: `topic partition offset` in each line.
pub fn parse_offsets(content: &[u8]) -> Result<OffsetMap, CheckpointError> {
    let entries = parse_lines(content, |fields| match fields {
        [topic, partition, offset] => {
            validate_topic_name(topic).ok()?;
            let partition = partition.parse().ok().filter(|partition| *partition >= 0)?;
            let offset = offset.parse().ok().filter(|offset| *offset >= 0)?;
            Some((TopicPartition::new(*topic, partition), Offset(offset)))
        }
        _ => None,
    })?;
    Ok(entries.into_iter().collect())
}

/// The content of a checkpoint of offsets.
pub fn render_offsets(offsets: &OffsetMap) -> String {
    render_lines(
        offsets
            .iter()
            .map(|(partition, offset)| format!("{} {} {offset}", partition.topic, partition.partition)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_read_back_and_look_as_kafka_writes_them() {
        let offsets = OffsetMap::from([
            (TopicPartition::new("plain", 1), Offset(750)),
            (TopicPartition::new("__consumer_offsets", 0), Offset(0)),
        ]);
        let text = render_offsets(&offsets);
        assert_eq!(text, "0\n2\n__consumer_offsets 0 0\nplain 1 750\n");
        assert_eq!(parse_offsets(text.as_bytes()), Ok(offsets));
    }

    #[test]
    fn a_file_that_is_not_whole_is_refused() {
        for bad in [
            "",
            "1\n0\n",
            "0\n",
            "0\nx\n",
            "0\n2\na 0 1\n",
            "0\n0\na 0 1\n",
            "0\n1\na 0\n",
            "0\n1\na 0 1 2\n",
            "0\n1\na -1 0\n",
            "0\n1\na 0 -1\n",
            "0\n1\n../a 0 1\n",
            "0\n1\na 0 99999999999999999999\n",
        ] {
            assert!(parse_offsets(bad.as_bytes()).is_err(), "{bad:?}");
        }
        assert!(parse_offsets(b"0\n1\n\xff 0 1\n").is_err());
        assert_eq!(parse_offsets(b"0\n0\n"), Ok(OffsetMap::new()));
    }
}
