//! What keeps the house in order and no lint checks: layers, sizes, budgets, the index, what is cited, the
//! opening of files.

mod budgets;
mod cited;
mod exceptions;
mod index;
mod layers;
mod opening;
mod sizes;
mod source;

use anyhow::{Result, bail};
use source::Source;
use std::path::Path;

/// Something out of order.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Complaint {
    /// Which rule.
    rule: &'static str,
    /// Where: a path, with `::name` for a function.
    place: String,
    /// By how much, for rules with a limit.
    size: Option<usize>,
    /// What is wrong and what would be right.
    words: String,
}

impl Complaint {
    fn new(rule: &'static str, place: impl Into<String>, words: impl Into<String>) -> Complaint {
        Complaint {
            rule,
            place: place.into(),
            size: None,
            words: words.into(),
        }
    }
}

/// Everything out of order in the tree, less what the list of exceptions grants.
fn check_tree(root: &Path) -> Result<Vec<Complaint>> {
    let sources = Source::read_tree(root)?;
    let mut complaints = sizes::check(&sources);
    complaints.extend(opening::check(&sources));
    complaints.extend(budgets::check(&sources));
    complaints.extend(layers::check(&layers::packages(root)?));
    complaints.extend(index::check(root)?);
    complaints.extend(cited::check(root, &sources)?);
    let granted = exceptions::read(&root.join("xtask/tidy-exceptions.tsv"))?;
    Ok(exceptions::apply(&granted, complaints))
}

/// Checks the tree, prints what is out of order and how much of the budgets is used, and fails on a complaint.
pub(crate) fn tidy(root: &Path) -> Result<()> {
    eprintln!("{}", budgets::usage(&Source::read_tree(root)?));
    report(&check_tree(root)?)
}

/// Prints complaints, and fails if there are any.
fn report(complaints: &[Complaint]) -> Result<()> {
    for complaint in complaints {
        eprintln!("{}: {}: {}", complaint.rule, complaint.place, complaint.words);
    }
    match complaints.len() {
        0 => Ok(()),
        1 => bail!("one thing is out of order"),
        many => bail!("{many} things are out of order"),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_tree_is_tidy() {
        let complaints = super::check_tree(&crate::run::root()).unwrap();
        assert!(complaints.is_empty(), "{complaints:#?}");
    }
}
