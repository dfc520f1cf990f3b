//! How a file opens, what it may not say, and words that name nothing.

use super::Complaint;
use super::source::Source;

/// Parts of names under which everything and nothing belongs.
const EMPTY_WORDS: &[&str] = &["Manager", "Helper", "Util", "Utils", "Common", "Base", "Impl"];

/// Files without `//!`, bare allows, and empty names.
pub(super) fn check(sources: &[Source]) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for source in sources {
        if !source.text.starts_with("//!") {
            complaints.push(Complaint::new(
                "opening",
                &source.path,
                "the first line is //! and says what the file is for",
            ));
        }
        // Spelled in two pieces, or this file would report itself.
        for allow in [concat!("#[", "allow("), concat!("#![", "allow(")] {
            if source.text.contains(allow) {
                complaints.push(Complaint::new(
                    "bare-allow",
                    &source.path,
                    "use #[expect(.., reason = \"..\")], which goes away with its cause",
                ));
            }
        }
        complaints.extend(empty_names(source));
    }
    complaints
}

fn empty_names(source: &Source) -> Vec<Complaint> {
    let words = source.text.lines().filter_map(|line| {
        let line = line
            .trim_start()
            .trim_start_matches("pub ")
            .trim_start_matches("pub(crate) ");
        let (keyword, rest) = line.split_once(' ')?;
        let name = rest.split(|c: char| !c.is_alphanumeric()).next()?;
        matches!(keyword, "struct" | "enum" | "trait").then_some(name)
    });
    let stem = source
        .path
        .rsplit('/')
        .next()
        .unwrap_or_default()
        .trim_end_matches(".rs");
    let is_empty_word = |word: &&str| EMPTY_WORDS.iter().any(|empty| word.ends_with(empty));
    let is_empty_stem = EMPTY_WORDS.iter().any(|empty| empty.eq_ignore_ascii_case(stem));
    words
        .filter(is_empty_word)
        .chain(is_empty_stem.then_some(stem))
        .map(|name| {
            let words = format!("{name} says nothing: what does it hold or do?");
            Complaint::new("empty-name", &source.path, words)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(path: &str, text: &str) -> Vec<&'static str> {
        check(&[Source::new(path, text)])
            .iter()
            .map(|complaint| complaint.rule)
            .collect()
    }

    #[test]
    fn each_rule_is_reported() {
        assert!(rules("core/x/src/lib.rs", "//! Good.\nstruct Basement;\n").is_empty());
        assert_eq!(rules("core/x/src/lib.rs", "use x;\n"), ["opening"]);
        assert_eq!(
            rules("core/x/src/lib.rs", concat!("//! X.\n#[", "allow(dead_code)]\n")),
            ["bare-allow"]
        );
        assert_eq!(
            rules("core/x/src/lib.rs", "//! X.\npub struct LogManager {}\n"),
            ["empty-name"]
        );
        assert_eq!(rules("core/x/src/utils.rs", "//! X.\n"), ["empty-name"]);
    }
}
