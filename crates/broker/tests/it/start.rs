//! What keeps a node from starting: each is one line that says what to do, and nothing is changed by it.

use std::collections::BTreeMap;
use std::path::Path;

use broker::config::NodeConfig;
use broker::{BindError, Broker, StartError};

use crate::support::Node;

fn config(log_dir: &Path, more: &[(&str, &str)]) -> NodeConfig {
    let log_dir = log_dir.display().to_string();
    let least = [
        ("process.roles", "broker,controller"),
        ("node.id", "1"),
        ("controller.listener.names", "CONTROLLER"),
        ("listeners", "PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:0"),
        ("log.dirs", log_dir.as_str()),
    ];
    let properties = least
        .iter()
        .chain(more)
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    NodeConfig::from_properties(properties.collect()).unwrap()
}

#[track_caller]
fn error_of(config: NodeConfig, expected: &str) -> StartError {
    let error = Broker::start(config).map(|_| ()).unwrap_err();
    let text = error.to_string();
    assert!(text.contains(expected) && !text.contains('\n'), "{text}");
    error
}

/// Every file below a folder with its content.
fn content(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(content(&path));
        } else {
            files.insert(path.display().to_string(), std::fs::read(&path).unwrap());
        }
    }
    files
}

#[test]
fn a_port_in_use() {
    let node = Node::start(&[]);
    let listeners = format!("PLAINTEXT://{},CONTROLLER://127.0.0.1:0", node.address());
    let dir = tempfile::tempdir().unwrap();
    let error = error_of(
        config(dir.path(), &[("listeners", &listeners)]),
        "in use; stop the process",
    );
    assert!(matches!(error, StartError::Bind(BindError::InUse(_))));
    assert!(content(dir.path()).is_empty());
}

#[test]
fn a_host_that_is_not_of_this_machine() {
    let dir = tempfile::tempdir().unwrap();
    for host in ["192.0.2.1", "no-such-host.invalid"] {
        let listeners = format!("PLAINTEXT://{host}:29092,CONTROLLER://127.0.0.1:0");
        error_of(config(dir.path(), &[("listeners", &listeners)]), host);
    }
}

#[test]
fn a_directory_that_is_not_formatted() {
    let dir = tempfile::tempdir().unwrap();
    error_of(config(dir.path(), &[]), "run `gracchus storage format");
    error_of(
        config(&dir.path().join("missing"), &[]),
        "run `gracchus storage format",
    );
    assert!(content(dir.path()).is_empty());
}

#[test]
fn a_directory_that_another_process_has() {
    let node = Node::start(&[]);
    error_of(
        config(&node.dir().join("data"), &[]),
        "in use by another broker; stop that one",
    );
    node.assert_alive();
}

#[test]
fn a_directory_of_another_node() {
    let mut node = Node::start(&[]);
    node.stop();
    let dir = node.dir().join("data");
    let before = content(&dir);
    error_of(
        config(&dir, &[("node.id", "2")]),
        "belongs to node 1, this is node 2",
    );
    assert_eq!(content(&dir), before);
}

#[test]
fn a_directory_that_cannot_be_used() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    std::fs::write(&file, "not a directory").unwrap();
    let error = error_of(config(&file, &[]), &file.display().to_string());
    let told = error.to_string();
    assert!(
        told.ends_with("; log.dirs must name directories that this user may write to"),
        "{told}"
    );
    assert_eq!(std::fs::read(&file).unwrap(), b"not a directory");
}

#[test]
fn meta_properties_that_are_damaged() {
    let mut node = Node::start(&[]);
    node.stop();
    let dir = node.dir().join("data");
    std::fs::write(dir.join("meta.properties"), "nonsense").unwrap();
    let before = content(&dir);
    error_of(config(&dir, &[]), "meta.properties");
    assert_eq!(content(&dir), before);
}

#[test]
fn partitions_without_the_metadata_log_that_knows_them() {
    let mut node = Node::start(&[]);
    node.stop();
    let dir = node.dir().join("data");
    std::fs::remove_dir_all(dir.join("__cluster_metadata-0")).unwrap();
    std::fs::create_dir(dir.join("orders-0")).unwrap();
    error_of(config(&dir, &[]), "is gone, but");
    assert!(dir.join("orders-0").exists(), "not set aside");
    assert!(!dir.join("__cluster_metadata-0").exists(), "not begun anew");
}
