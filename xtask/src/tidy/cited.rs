//! What comments and tests cite by number stands in the lists of `docs`, and the tests those lists name exist.

use super::Complaint;
use super::source::Source;
use anyhow::{Context, Result};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// A list that is cited: its page, the head of its tables' first column, and the words that come before its numbers.
struct List {
    page: &'static str,
    head: &'static str,
    words: &'static [&'static str],
}

const LISTS: &[List] = &[
    List {
        page: "docs/rules.md",
        head: "rule",
        words: &["rule ", "rules ", "rule_", "rules_"],
    },
    List {
        page: "docs/rules.md",
        head: "case",
        words: &["case ", "cases ", "case_", "cases_"],
    },
    List {
        page: "docs/bad-input.md",
        head: "row",
        words: &[
            "bad input ",
            "bad input, row ",
            "bad input, rows ",
            "row_",
            "rows_",
        ],
    },
];

/// Citations without a row, and tests in `docs/bad-input.md` that nobody wrote.
pub(super) fn check(root: &Path, sources: &[Source]) -> Result<Vec<Complaint>> {
    let mut complaints = Vec::new();
    for list in LISTS {
        let page = fs::read_to_string(root.join(list.page)).with_context(|| format!("no {}", list.page))?;
        let rows = rows(&page, list.head);
        for source in sources {
            let cited = cited(&source.text, list.words);
            complaints.extend(cited.difference(&rows).map(|number| {
                let words = format!("{} {number} is not in {}", list.head, list.page);
                Complaint::new("cited", &source.path, words)
            }));
        }
    }
    let page = fs::read_to_string(root.join("docs/bad-input.md"))?;
    let missing = tests_named(&page).into_iter().filter(|test| {
        let signature = format!("fn {test}(");
        !sources.iter().any(|source| source.text.contains(&signature))
    });
    complaints.extend(
        missing.map(|test| Complaint::new("cited", "docs/bad-input.md", format!("there is no test {test}"))),
    );
    Ok(complaints)
}

/// The numbers in the first column of the tables whose first head that is.
fn rows(page: &str, head: &str) -> BTreeSet<u32> {
    let mut rows = BTreeSet::new();
    let mut inside = false;
    for line in page.lines() {
        let first = line.split('|').nth(1).map_or("", str::trim);
        if line.is_empty() {
            inside = false;
        } else if first == head {
            inside = true;
        } else if inside {
            rows.extend(first.parse::<u32>());
        }
    }
    rows
}

/// The numbers behind any of the words, lists ("3 to 5, 7 and 9") included.
fn cited(text: &str, words: &[&str]) -> BTreeSet<u32> {
    // Comments are wrapped: a list may go on in the next line.
    let text: Vec<&str> = text
        .lines()
        .map(|line| line.trim_start().trim_start_matches(['/', '!']))
        .collect();
    let text = text.concat();
    let text = text.to_lowercase();
    let mut numbers = BTreeSet::new();
    for word in words {
        for (at, _) in text.match_indices(word) {
            let starts_word = text[..at]
                .chars()
                .next_back()
                .is_none_or(|c| !c.is_alphanumeric());
            if starts_word {
                list(&text[at + word.len()..], &mut numbers);
            }
        }
    }
    numbers
}

/// Takes the numbers a text begins with.
fn list(mut text: &str, numbers: &mut BTreeSet<u32>) {
    let mut from = None;
    loop {
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let Ok(number) = text[..digits].parse::<u32>() else {
            return;
        };
        numbers.extend(from.unwrap_or(number)..=number);
        text = &text[digits..];
        let separators = [" to ", ", ", " and ", "_and_"];
        let Some(separator) = separators.iter().find(|separator| text.starts_with(**separator)) else {
            return;
        };
        from = (*separator == " to ").then_some(number);
        text = &text[separator.len()..];
    }
}

/// The names in the last column of the rows.
fn tests_named(page: &str) -> Vec<&str> {
    page.lines()
        .filter(|line| line.starts_with("| "))
        .filter_map(|line| line.trim_end_matches([' ', '|']).rsplit('|').next())
        .flat_map(|cell| cell.split('`').skip(1).step_by(2))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_cited_must_be_listed_and_tests_that_are_named_must_be_there() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("docs")).unwrap();
        let rules = "| rule | |\n| --- | --- |\n| 3 | x |\n| 4 | x |\n| 5 | x |\n\n| case | |\n| 9 | x |\n";
        fs::write(root.path().join("docs/rules.md"), rules).unwrap();
        let rows = "| row | input | test |\n| 1 | `x` | `row_1_a` `gone` |\n";
        fs::write(root.path().join("docs/bad-input.md"), rows).unwrap();
        let text = concat!(
            "/// As said (ru",
            "les 3 to 5 and\n/// 7; ca",
            "se 9), lowercase 12.\nfn ro",
            "ws_1_and_2() {}\nfn ro",
            "w_1_a() {}\n"
        );
        let complaints = check(root.path(), &[Source::new("core/x/src/lib.rs", text)]).unwrap();
        let words: Vec<_> = complaints.into_iter().map(|complaint| complaint.words).collect();
        assert_eq!(
            words,
            [
                "rule 7 is not in docs/rules.md",
                "row 2 is not in docs/bad-input.md",
                "there is no test gone"
            ]
        );
    }
}
