//! `meta.properties`: whose directory this is (rule 103). A Java properties file, as Kafka reads and writes it.

use java_properties::{LineEnding, PropertiesIter, PropertiesWriter};
use model::{BrokerId, Uuid, escape_latin1};

/// The name of the file.
pub(super) const META_PROPERTIES: &str = "meta.properties";

/// The identity of a log directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetaProperties {
    /// `cluster.id`.
    pub cluster_id: String,
    /// `node.id`.
    pub node_id: BrokerId,
    /// `directory.id`; missing in directories that no JBOD-aware broker has opened.
    pub directory_id: Option<Uuid>,
}

/// Why a `meta.properties` cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MetaPropertiesError {
    /// Not a properties file.
    #[error("not a Java properties file: {0}")]
    Syntax(String),
    /// A version that is not known here.
    #[error("version is `{0}`, expected 1 (0 is of a broker with ZooKeeper)")]
    Version(String),
    /// A key that has to be there.
    #[error("`{0}` is missing")]
    Missing(&'static str),
    /// A value of the wrong form.
    #[error("`{key}` is `{value}`, expected {expected}")]
    Value {
        /// The key.
        key: &'static str,
        /// What it says.
        value: String,
        /// What it should be.
        expected: &'static str,
    },
}

impl MetaProperties {
    /// Reads the content. Keys that are not known are ignored, as Kafka does.
    pub fn parse(content: &[u8]) -> Result<MetaProperties, MetaPropertiesError> {
        let (mut version, mut cluster_id, mut node_id, mut directory_id) = (None, None, None, None);
        PropertiesIter::new(escape_latin1(content).as_slice())
            .read_into(|key, value| match key.as_str() {
                "version" => version = Some(value),
                "cluster.id" => cluster_id = Some(value),
                "node.id" => node_id = Some(value),
                "directory.id" => directory_id = Some(value),
                _ => {}
            })
            .map_err(|error| MetaPropertiesError::Syntax(error.to_string()))?;
        match version.as_deref() {
            Some("1") => {}
            Some(other) => return Err(MetaPropertiesError::Version(other.to_owned())),
            None => return Err(MetaPropertiesError::Missing("version")),
        }
        let node_id = node_id.ok_or(MetaPropertiesError::Missing("node.id"))?;
        let directory_id = directory_id.map(|text| {
            text.parse().map_err(|_| MetaPropertiesError::Value {
                key: "directory.id",
                value: text,
                expected: "an id of 22 characters",
            })
        });
        Ok(MetaProperties {
            cluster_id: cluster_id.ok_or(MetaPropertiesError::Missing("cluster.id"))?,
            node_id: node_id.parse().ok().filter(|id| *id >= 0).map(BrokerId).ok_or(
                MetaPropertiesError::Value {
                    key: "node.id",
                    value: node_id,
                    expected: "a number from 0 on",
                },
            )?,
            directory_id: directory_id.transpose()?,
        })
    }

    /// The content: Latin-1, as properties files are.
    pub fn render(&self) -> Vec<u8> {
        let mut lines = vec![("node.id", self.node_id.to_string())];
        if let Some(id) = self.directory_id {
            lines.push(("directory.id", id.to_string()));
        }
        lines.push(("version", "1".to_owned()));
        lines.push(("cluster.id", self.cluster_id.clone()));
        let mut content = Vec::new();
        let mut writer = PropertiesWriter::new(&mut content);
        writer.set_line_ending(LineEnding::LF);
        for (key, value) in &lines {
            writer
                .write(key, value)
                .expect("a Vec takes every write, and Latin-1 escapes every character");
        }
        drop(writer);
        content
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> MetaProperties {
        MetaProperties {
            cluster_id: "1vR05W1yRTm40ArhIWTDng".to_owned(),
            node_id: BrokerId(1),
            directory_id: Some("Jtflsnh6DUEpc2Xx0hyhLw".parse().unwrap()),
        }
    }

    #[test]
    fn bytes_beyond_ascii_are_read_as_java_reads_them() {
        assert!(MetaProperties::parse(b"\xff").is_err());
        let content = b"version=1\ncluster.id=caf\xe9\nnode.id=1\ndirectory.id=Jtflsnh6DUEpc2Xx0hyhLw\n";
        assert_eq!(MetaProperties::parse(content).unwrap().cluster_id, "caf\u{e9}");
    }

    #[test]
    fn what_kafka_wrote_is_read() {
        let text = b"#\n#Sun Nov 29 21:49:11 UTC 2026\nnode.id=1\ndirectory.id=Jtflsnh6DUEpc2Xx0hyhLw\nversion=1\ncluster.id=1vR05W1yRTm40ArhIWTDng\n";
        assert_eq!(MetaProperties::parse(text), Ok(sample()));
    }

    #[test]
    fn what_is_written_reads_back_whatever_the_cluster_id() {
        for cluster_id in ["1vR05W1yRTm40ArhIWTDng", "a=b:c #d\\", "größer", ""] {
            let meta = MetaProperties {
                cluster_id: cluster_id.to_owned(),
                ..sample()
            };
            assert_eq!(MetaProperties::parse(&meta.render()), Ok(meta), "{cluster_id:?}");
        }
        let without = MetaProperties {
            directory_id: None,
            ..sample()
        };
        assert_eq!(MetaProperties::parse(&without.render()), Ok(without));
    }

    #[test]
    fn what_is_missing_or_wrong_is_named() {
        let error = |text: &str| MetaProperties::parse(text.as_bytes()).unwrap_err().to_string();
        assert_eq!(error(""), "`version` is missing");
        assert_eq!(
            error("version=0\nbroker.id=1"),
            "version is `0`, expected 1 (0 is of a broker with ZooKeeper)"
        );
        assert_eq!(error("version=1\ncluster.id=c"), "`node.id` is missing");
        assert_eq!(error("version=1\nnode.id=1"), "`cluster.id` is missing");
        assert_eq!(
            error("version=1\ncluster.id=c\nnode.id=-1"),
            "`node.id` is `-1`, expected a number from 0 on"
        );
        assert!(error("version=1\ncluster.id=c\nnode.id=1\ndirectory.id=x").contains("22 characters"));
        assert!(error("version=\\uZZZZ").contains("not a Java properties file"));
    }
}
