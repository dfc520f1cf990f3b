//! `campaigns/NAME.tsv`: what each campaign found, at which commit. The files are committed, so that a reader sees them.

use crate::run::{output, root};
use anyhow::{Context, Result};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The first line of every ledger.
const HEAD: &str = "commit\tcampaign\tresult\tfigures";

/// One ledger.
pub(crate) struct Ledger {
    path: PathBuf,
    commit: String,
}

impl Ledger {
    /// The ledger of a campaign, for rows about the tree as it is now.
    pub(crate) fn open(name: &str) -> Result<Ledger> {
        let folder = root().join("campaigns");
        fs::create_dir_all(&folder)?;
        let path = folder.join(format!("{name}.tsv"));
        Ok(Ledger {
            path,
            commit: commit()?,
        })
    }

    /// The clean executions of a fuzz target in this tree.
    pub(crate) fn executions(&self, target: &str) -> u64 {
        let text = fs::read_to_string(&self.path).unwrap_or_default();
        executions(&text, &self.commit, target)
    }

    /// Appends a row.
    pub(crate) fn note(&self, campaign: &str, is_clean: bool, figures: &str) -> Result<()> {
        let is_new = !self.path.exists();
        let mut file = fs::File::options().append(true).create(true).open(&self.path)?;
        if is_new {
            writeln!(file, "{HEAD}")?;
        }
        let result = if is_clean { "clean" } else { "found" };
        writeln!(file, "{}\t{campaign}\t{result}\t{figures}", self.commit)?;
        Ok(())
    }

    /// Runs a campaign, and notes what its last line says.
    pub(crate) fn run(&self, command: &mut Command, arguments: &[String]) -> Result<()> {
        let mut child = command.stdout(Stdio::piped()).spawn()?;
        let mut last = String::new();
        for line in BufReader::new(child.stdout.take().context("no output")?).lines() {
            last = line?;
            println!("{last}");
        }
        let is_clean = child.wait()?.success();
        self.note(&arguments.join(" "), is_clean, &last.replace('\t', " "))?;
        anyhow::ensure!(is_clean, "the campaign found something");
        Ok(())
    }
}

/// The commit of the tree, with `+` where the tree differs from it in more than ledgers.
fn commit() -> Result<String> {
    let git = |words: &[&str]| output(Command::new("git").current_dir(root()).args(words));
    let commit = git(&["rev-parse", "--short=10", "HEAD"])?;
    let changed = git(&["status", "--porcelain", "--", ".", ":!campaigns"])?;
    Ok(format!(
        "{}{}",
        commit.trim(),
        if changed.is_empty() { "" } else { "+" }
    ))
}

fn executions(ledger: &str, commit: &str, target: &str) -> u64 {
    let clean = ledger.lines().filter_map(|line| {
        let [row, of, "clean", runs] = line.split('\t').collect::<Vec<_>>()[..] else {
            return None;
        };
        (row == commit && of == target).then(|| runs.parse::<u64>().ok())?
    });
    clean.sum()
}

#[cfg(test)]
mod tests {
    use super::{HEAD, executions};

    #[test]
    fn a_ledger_adds_up_what_was_clean_in_one_tree() {
        let ledger = format!(
            "{HEAD}\nabc\tframe\tclean\t10\nabc\trecords\tclean\t5\nabc\tframe\tfound\t7\n\
             def\tframe\tclean\t1\nabc\tframe\tclean\t2\n"
        );
        assert_eq!(executions(&ledger, "abc", "frame"), 12);
        assert_eq!(executions(&ledger, "def", "frame"), 1);
        assert_eq!(executions(&ledger, "abc", "codec"), 0);
    }
}
