//! What the pages name exists: paths into the tree, and files that a link leads to.

use super::Complaint;
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// A word in backticks that starts like this is a path from the root.
const SHELVES: &[&str] = &["core/", "crates/", "xtask/", "docs/", "bench/", "fuzz/", ".ci/"];

/// Paths in the Markdown pages that lead nowhere.
pub(super) fn check(root: &Path) -> Result<Vec<Complaint>> {
    let mut complaints = Vec::new();
    for page in pages(root)? {
        let text = fs::read_to_string(&page).with_context(|| format!("cannot read {}", page.display()))?;
        let folder = page.parent().unwrap_or(root);
        let place = page
            .strip_prefix(root)
            .unwrap_or(&page)
            .to_string_lossy()
            .into_owned();
        let named = paths_named(&text).into_iter().map(|path| (root.join(path), path));
        let linked = links(&text).into_iter().map(|path| (folder.join(path), path));
        for (path, name) in named.chain(linked) {
            if !path.exists() {
                complaints.push(Complaint::new("index", &place, format!("{name} does not exist")));
            }
        }
    }
    Ok(complaints)
}

fn pages(root: &Path) -> Result<Vec<PathBuf>> {
    let mut pages = Vec::new();
    for folder in ["", "docs", "docs/adr", "docs/generated", "docs/operations"] {
        let Ok(entries) = fs::read_dir(root.join(folder)) else {
            continue;
        };
        for entry in entries {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "md") {
                pages.push(path);
            }
        }
    }
    pages.sort();
    Ok(pages)
}

/// The words in backticks that are paths into the tree.
fn paths_named(text: &str) -> Vec<&str> {
    text.lines()
        .flat_map(|line| line.split('`').skip(1).step_by(2))
        .filter(|word| SHELVES.iter().any(|shelf| word.starts_with(shelf)))
        .filter(|word| !word.contains(['*', '<', ' ', '{']))
        .collect()
}

/// The targets of links to files.
fn links(text: &str) -> Vec<&str> {
    text.split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next())
        .map(|target| target.split('#').next().unwrap_or_default())
        .filter(|target| !target.is_empty() && !target.contains("://"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_leads_nowhere_is_reported() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("core/model")).unwrap();
        fs::create_dir_all(root.path().join("docs/adr")).unwrap();
        let page = "`core/model` and `core/gone.rs`, [one](docs/adr) and [two](docs/none.md#x), \
                    [far](https://example.org/x), `cargo run`, `crates/<name>`\n";
        fs::write(root.path().join("ARCHITECTURE.md"), page).unwrap();
        let words: Vec<_> = check(root.path())
            .unwrap()
            .into_iter()
            .map(|complaint| complaint.words)
            .collect();
        assert_eq!(
            words,
            ["core/gone.rs does not exist", "docs/none.md does not exist"]
        );
    }
}
