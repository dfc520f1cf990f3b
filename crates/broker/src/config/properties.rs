//! `server.properties` and the `KAFKA_` environment variables, as names and texts.

use model::config::broker_key;
use model::escape_latin1;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Names and values as somebody wrote them.
pub type Properties = BTreeMap<String, String>;

/// Why a properties file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file cannot be opened.
    #[error("cannot read the configuration {}: {cause}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// What the system says.
        cause: std::io::Error,
    },
    /// The file is no properties file.
    #[error("{} is not a properties file: {cause}; each line is key=value", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// What is wrong, and in which line.
        cause: java_properties::PropertiesError,
    },
}

/// Reads a file in the format of Java's properties.
///
/// # Errors
/// When the file cannot be opened, or a line cannot be understood.
pub fn read_properties(path: &Path) -> Result<Properties, ReadError> {
    let bytes = std::fs::read(path).map_err(|cause| ReadError::Open {
        path: path.to_owned(),
        cause,
    })?;
    match java_properties::read(escape_latin1(&bytes).as_slice()) {
        Ok(pairs) => Ok(pairs.into_iter().collect()),
        Err(cause) => Err(ReadError::Syntax {
            path: path.to_owned(),
            cause,
        }),
    }
}

/// Variables of the apache/kafka image that start with `KAFKA_` and are no configuration.
const NOT_CONFIGURATION: &[&str] = &[
    "KAFKA_VERSION",
    "KAFKA_HEAP_OPTS",
    "KAFKA_LOG4J_OPTS",
    "KAFKA_OPTS",
    "KAFKA_JMX_OPTS",
    "KAFKA_JVM_PERFORMANCE_OPTS",
    "KAFKA_GC_LOG_OPTS",
    "KAFKA_LOG4J_ROOT_LOGLEVEL",
    "KAFKA_LOG4J_LOGGERS",
    "KAFKA_TOOLS_LOG4J_LOGLEVEL",
];

/// The properties that environment variables set, by the rules of the apache/kafka image:
/// `KAFKA_` and the key in capitals, `_` for a dot, `__` for an underscore, `___` for a dash.
pub fn environment_properties(variables: impl IntoIterator<Item = (String, String)>) -> Properties {
    variables
        .into_iter()
        .filter(|(name, _)| !NOT_CONFIGURATION.contains(&name.as_str()))
        .filter_map(|(name, value)| Some((key_of_variable(name.strip_prefix("KAFKA_")?), value)))
        .collect()
}

fn key_of_variable(name: &str) -> String {
    name.to_ascii_lowercase()
        .replace("___", "-")
        .replace("__", "\u{0}")
        .replace('_', ".")
        .replace('\u{0}', "_")
}

/// A key nobody knows, and the known key that looks most like it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownKey {
    /// The key as given.
    pub name: String,
    /// The known key nearest to it, when one is near.
    pub nearest: Option<&'static str>,
}

impl std::fmt::Display for UnknownKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "unknown key {} is ignored", self.name)?;
        match self.nearest {
            Some(nearest) => write!(f, "; did you mean {nearest}?"),
            None => Ok(()),
        }
    }
}

/// How alike two names must be (0 to 1) for one to be a suggestion for the other.
const ALIKE: f64 = 0.8;

/// The keys that are not in the table. Settings of one listener and of plug-ins have names of their own and pass.
pub fn unknown_keys(properties: &Properties) -> Vec<UnknownKey> {
    properties
        .keys()
        .filter(|name| broker_key(name).is_none() && !has_free_name(name))
        .map(|name| UnknownKey {
            name: name.clone(),
            nearest: nearest_key(name),
        })
        .collect()
}

/// The keys that nothing acts on in this version, though Apache Kafka knows them.
pub fn keys_without_effect(properties: &Properties) -> Vec<&str> {
    let is_idle = |name: &str| broker_key(name).map_or_else(|| has_free_name(name), |key| !key.is_honoured());
    let names = properties.keys().map(String::as_str);
    names.filter(|name| is_idle(name)).collect()
}

fn has_free_name(name: &str) -> bool {
    [
        "listener.name.",
        "rsm.config.",
        "rlmm.config.",
        "config.providers.",
    ]
    .iter()
    .any(|prefix| name.starts_with(prefix))
}

fn nearest_key(name: &str) -> Option<&'static str> {
    model::config::broker_keys()
        .map(|key| (strsim::normalized_damerau_levenshtein(name, key.name), key.name))
        .filter(|(alike, _)| *alike >= ALIKE)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, nearest)| nearest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(pairs: &[(&str, &str)]) -> Properties {
        environment_properties(
            pairs
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned())),
        )
    }

    #[test]
    fn a_file_with_bytes_beyond_ascii_is_read_as_java_reads_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("server.properties");
        std::fs::write(&path, b"# \xff\nbroker.rack=caf\xe9").unwrap();
        let properties = read_properties(&path).unwrap();
        assert_eq!(
            properties.get("broker.rack").map(String::as_str),
            Some("caf\u{e9}")
        );
    }

    #[test]
    fn variables_become_keys_as_in_the_apache_image() {
        let properties = variables(&[
            ("KAFKA_LOG_DIRS", "/data"),
            ("KAFKA_LISTENER_NAME_IN__HOUSE_SSL_KEY", "x"),
            ("KAFKA_MY___KEY", "dash"),
            ("KAFKA_HEAP_OPTS", "-Xmx1g"),
            ("PATH", "/bin"),
        ]);
        let expected = [
            ("listener.name.in_house.ssl.key", "x"),
            ("log.dirs", "/data"),
            ("my-key", "dash"),
        ];
        assert_eq!(
            properties
                .iter()
                .map(|(name, value)| (name.as_str(), value.as_str()))
                .collect::<Vec<_>>(),
            expected
        );
    }

    #[test]
    fn an_unknown_key_is_reported_with_the_nearest_one() {
        let properties = variables(&[
            ("KAFKA_LOG_DIRSS", "/data"),
            ("KAFKA_NUM_PARTITIONS", "1"),
            ("KAFKA_ENTIRELY_OTHER", "1"),
            ("KAFKA_LISTENER_NAME_X_ANYTHING", "1"),
        ]);
        let unknown = unknown_keys(&properties);
        assert_eq!(
            unknown.iter().map(ToString::to_string).collect::<Vec<_>>(),
            [
                "unknown key entirely.other is ignored",
                "unknown key log.dirss is ignored; did you mean log.dirs?"
            ]
        );
    }

    #[test]
    fn what_is_known_and_has_no_effect_is_told_apart() {
        let properties = variables(&[
            ("KAFKA_LOG_DIRS", "/data"),
            ("KAFKA_TRANSACTION_STATE_LOG_MIN_ISR", "1"),
            ("KAFKA_LISTENER_NAME_X_SSL_KEY", "1"),
            ("KAFKA_ENTIRELY_OTHER", "1"),
        ]);
        let expected = ["listener.name.x.ssl.key", "transaction.state.log.min.isr"];
        assert_eq!(keys_without_effect(&properties), expected);
    }

    #[test]
    fn a_file_is_read_as_java_reads_it() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(
            file.path(),
            "# comment\nlog.dirs = /a,\\\n  /b\nnode.id:7\n\nbroker.rack=\n",
        )
        .unwrap();
        let properties = read_properties(file.path()).unwrap();
        assert_eq!(properties.get("log.dirs").map(String::as_str), Some("/a,/b"));
        assert_eq!(properties.get("node.id").map(String::as_str), Some("7"));
        assert_eq!(properties.get("broker.rack").map(String::as_str), Some(""));
        let missing = read_properties(Path::new("/no/such.properties")).unwrap_err();
        assert!(
            missing
                .to_string()
                .starts_with("cannot read the configuration /no/such.properties:"),
            "{missing}"
        );
    }
}
