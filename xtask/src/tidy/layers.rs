//! Layers are crates: which of ours may depend on which, and what the deterministic shelf must do without.

use super::Complaint;
use crate::run::{cargo, output};
use anyhow::{Context, Result};
use serde_json::Value;
use std::path::Path;

/// A crate of ours and the crates of ours it may depend on; dependencies of tests are free.
const LAYERS: &[(&str, &[&str])] = &[
    ("model", &[]),
    ("wire-derive", &[]),
    ("wire", &["model", "wire-derive"]),
    ("storage", &["model", "wire"]),
    ("replication", &["model", "wire", "storage"]),
    ("metadata", &["model", "wire"]),
    ("controller", &["model", "wire", "metadata"]),
    ("quorum", &["model", "wire", "storage", "metadata"]),
    ("coordinator", &["model", "wire"]),
    (
        "sim",
        &[
            "model",
            "wire",
            "storage",
            "replication",
            "metadata",
            "controller",
            "quorum",
            "coordinator",
        ],
    ),
    ("transport", &["model", "wire"]),
    (
        "broker",
        &[
            "model",
            "wire",
            "storage",
            "replication",
            "metadata",
            "controller",
            "quorum",
            "coordinator",
            "transport",
        ],
    ),
    ("client", &["model", "wire", "transport"]),
    (
        "cli",
        &[
            "broker",
            "client",
            "model",
            "wire",
            "storage",
            "metadata",
            "transport",
        ],
    ),
    ("conformance", &[]),
    ("xtask", &[]),
];

/// Crates that bring a clock, entropy, sockets or threads: not for `core/`.
const NOT_IN_CORE: &[&str] = &[
    "tokio",
    "getrandom",
    "rand",
    "socket2",
    "tracing-subscriber",
    "chrono",
    "anyhow",
];

const PREFIX: &str = "gracchus-";

/// A package of the workspace.
#[derive(Debug)]
pub(super) struct Package {
    /// Its name, without our prefix.
    name: String,
    /// Whether it stands on the deterministic shelf.
    is_core: bool,
    /// The crates it needs, tests aside.
    dependencies: Vec<String>,
}

/// The packages of the workspace, as cargo sees them.
pub(super) fn packages(root: &Path) -> Result<Vec<Package>> {
    let text = output(cargo("metadata --no-deps --format-version 1 --offline").current_dir(root))?;
    let metadata: Value = serde_json::from_str(&text).context("cargo metadata is not JSON")?;
    let packages = metadata["packages"].as_array().context("no packages")?;
    Ok(packages.iter().map(package).collect())
}

fn package(json: &Value) -> Package {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let dependencies = json["dependencies"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    Package {
        name: text(&json["name"]).trim_start_matches(PREFIX).to_owned(),
        is_core: text(&json["manifest_path"]).contains("/core/"),
        dependencies: dependencies
            .iter()
            .filter(|dependency| dependency["kind"] != "dev")
            .map(|dependency| text(&dependency["name"]))
            .collect(),
    }
}

/// Arrows that the table does not have.
pub(super) fn check(packages: &[Package]) -> Vec<Complaint> {
    packages.iter().flat_map(package_complaints).collect()
}

fn package_complaints(package: &Package) -> Vec<Complaint> {
    let Some((_, allowed)) = LAYERS.iter().find(|(name, _)| *name == package.name) else {
        return vec![Complaint::new(
            "layers",
            &package.name,
            "a new crate needs a row in xtask/src/tidy/layers.rs",
        )];
    };
    let mut complaints = Vec::new();
    for dependency in &package.dependencies {
        match dependency.strip_prefix(PREFIX) {
            Some(ours) if !allowed.contains(&ours) => complaints.push(Complaint::new(
                "layers",
                &package.name,
                format!("it may not depend on {ours}; allowed are: {}", allowed.join(", ")),
            )),
            None if package.is_core && NOT_IN_CORE.contains(&dependency.as_str()) => {
                complaints.push(Complaint::new(
                    "layers",
                    &package.name,
                    format!("{dependency} is not for core/, where a seed must reproduce a run"),
                ))
            }
            _ => {}
        }
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(name: &str, dependencies: &[&str]) -> Vec<String> {
        let package = Package {
            name: name.to_owned(),
            is_core: name != "cli",
            dependencies: dependencies.iter().map(|name| (*name).to_owned()).collect(),
        };
        check(&[package])
            .into_iter()
            .map(|complaint| complaint.words)
            .collect()
    }

    #[test]
    fn arrows_outside_the_table_are_reported() {
        assert!(words("wire", &["gracchus-model", "bytes"]).is_empty());
        assert!(words("wire", &["gracchus-storage"])[0].starts_with("it may not depend on storage"));
        assert!(words("model", &["tokio"])[0].starts_with("tokio is not for core/"));
        assert!(words("cli", &["tokio"]).is_empty());
        assert!(words("newcomer", &[])[0].contains("needs a row"));
    }
}
