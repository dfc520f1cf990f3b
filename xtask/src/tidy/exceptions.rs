//! Exceptions from the rules: a list that may only shrink.

use super::Complaint;
use anyhow::{Context, Result};
use std::fs;
use std::path::Path;

/// One row of the list: a rule, a place, and for rules with a limit the size it is granted.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Exception {
    rule: String,
    place: String,
    size: Option<usize>,
}

/// The rows of the list; no file is no exceptions.
pub(super) fn read(path: &Path) -> Result<Vec<Exception>> {
    let Ok(text) = fs::read_to_string(path) else {
        return Ok(Vec::new());
    };
    text.lines()
        .filter(|line| !line.trim().is_empty() && !line.starts_with('#'))
        .map(|line| {
            parse(line).with_context(|| format!("{}: {line:?} is not rule, place, size", path.display()))
        })
        .collect()
}

fn parse(line: &str) -> Option<Exception> {
    let mut fields = line.split('\t');
    let (rule, place) = (fields.next()?, fields.next()?);
    let size = match fields.next() {
        Some(text) => Some(text.parse().ok()?),
        None => None,
    };
    Some(Exception {
        rule: rule.to_owned(),
        place: place.to_owned(),
        size,
    })
}

/// The complaints that no exception covers, and the exceptions that are wider than what they cover.
pub(super) fn apply(granted: &[Exception], complaints: Vec<Complaint>) -> Vec<Complaint> {
    let covers = |exception: &Exception, complaint: &Complaint| {
        exception.rule == complaint.rule
            && exception.place == complaint.place
            && exception.size >= complaint.size
    };
    let mut left: Vec<Complaint> = Vec::new();
    for exception in granted {
        let used = complaints.iter().find(|complaint| covers(exception, complaint));
        let words = match used {
            None => "nothing there needs an exception any more: remove the row".to_owned(),
            Some(complaint) if complaint.size != exception.size => {
                format!(
                    "it shrank to {}: so must its row",
                    complaint.size.unwrap_or_default()
                )
            }
            Some(_) => continue,
        };
        left.push(Complaint::new("exception", &exception.place, words));
    }
    left.extend(
        complaints
            .into_iter()
            .filter(|complaint| !granted.iter().any(|e| covers(e, complaint))),
    );
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file_size(size: usize) -> Complaint {
        Complaint {
            size: Some(size),
            ..Complaint::new("file-size", "a.rs", "too long")
        }
    }

    fn left(rows: &str, complaints: Vec<Complaint>) -> Vec<&'static str> {
        let granted: Vec<_> = rows.lines().map(|line| parse(line).unwrap()).collect();
        apply(&granted, complaints)
            .iter()
            .map(|complaint| complaint.rule)
            .collect()
    }

    #[test]
    fn an_exception_covers_what_it_names_and_no_more() {
        assert!(left("file-size\ta.rs\t950", vec![file_size(950)]).is_empty());
        assert_eq!(
            left("file-size\ta.rs\t950", vec![file_size(951)]),
            ["exception", "file-size"]
        );
        assert_eq!(
            left("file-size\tb.rs\t950", vec![file_size(950)]),
            ["exception", "file-size"]
        );
    }

    #[test]
    fn the_list_must_shrink_with_what_it_covers() {
        assert_eq!(left("file-size\ta.rs\t950", vec![file_size(940)]), ["exception"]);
        assert_eq!(left("file-size\ta.rs\t950", vec![]), ["exception"]);
    }
}
