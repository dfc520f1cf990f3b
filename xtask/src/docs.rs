//! `docs/generated`: pages the binary writes about itself from its own tables, so that they cannot drift.

use crate::run::{cargo, output, root, run};
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::PathBuf;

/// A page and the word after `gracchus reference` that prints it.
const PAGES: &[(&str, &str)] = &[
    ("protocol.md", "protocol"),
    ("configuration.md", "configuration"),
    ("command-line.md", "command-line"),
];

/// Writes the pages.
pub(crate) fn write() -> Result<()> {
    fs::create_dir_all(folder())?;
    for (file, text) in pages()? {
        fs::write(folder().join(file), text)?;
    }
    Ok(())
}

/// Whether the pages in the tree are what the binary would write.
pub(crate) fn check() -> Result<()> {
    for (file, text) in pages()? {
        let path = folder().join(file);
        let present = fs::read_to_string(&path).unwrap_or_default();
        if present != text {
            let line = present
                .lines()
                .zip(text.lines())
                .position(|(old, new)| old != new);
            bail!(
                "docs/generated/{file} is not current (line {}): run cargo xtask docs",
                line.unwrap_or_else(|| present.lines().count().min(text.lines().count())) + 1
            );
        }
    }
    Ok(())
}

fn folder() -> PathBuf {
    root().join("docs/generated")
}

fn pages() -> Result<Vec<(&'static str, String)>> {
    run(&mut cargo("build --quiet --locked --package gracchus-cli"))?;
    PAGES
        .iter()
        .map(|(file, word)| {
            let text = output(cargo("run --quiet --locked --package gracchus-cli -- reference").arg(word))
                .with_context(|| format!("gracchus reference {word}"))?;
            Ok((*file, text))
        })
        .collect()
}
