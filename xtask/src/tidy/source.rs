//! A Rust file as tidy sees it: which lines are code, which belong to tests, where functions begin and end.
//!
//! This is no parser. Comments and the insides of literals are masked, and then brackets are matched.

use anyhow::{Context, Result};
use std::fs;
use std::ops::Range;
use std::path::Path;

/// One Rust file.
pub(crate) struct Source {
    /// Its path from the root, with `/`.
    pub(crate) path: String,
    /// What it says.
    pub(crate) text: String,
    /// The same length, with comments blank and the insides of literals replaced.
    masked: String,
    /// Where its tests are, in bytes.
    tests: Vec<Range<usize>>,
}

/// A function with a body.
pub(crate) struct Function<'a> {
    /// Its name.
    pub(crate) name: &'a str,
    /// From `fn` to the brace that opens the body.
    pub(crate) signature: &'a str,
    /// Whether the world outside the crate can call it.
    pub(crate) is_public: bool,
    /// Lines of code in the body.
    pub(crate) lines: usize,
}

impl Source {
    /// Every Rust file of the workspace, fuzz targets and the bench included.
    pub(crate) fn read_tree(root: &Path) -> Result<Vec<Source>> {
        let mut sources = Vec::new();
        for shelf in ["core", "crates", "xtask", "bench", "fuzz"] {
            collect(root, &root.join(shelf), &mut sources)?;
        }
        sources.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(sources)
    }

    pub(crate) fn new(path: impl Into<String>, text: impl Into<String>) -> Source {
        let text = text.into();
        let masked = mask(&text);
        let tests = test_ranges(&masked);
        Source {
            path: path.into(),
            text,
            masked,
            tests,
        }
    }

    /// Whether the whole file is a test, an example or a fuzz target.
    pub(crate) fn is_test(&self) -> bool {
        let has = |part: &str| self.path.split('/').any(|piece| piece == part);
        has("tests") || has("tests.rs") || has("benches") || has("examples") || self.path.starts_with("fuzz/")
    }

    /// Lines of code outside tests.
    pub(crate) fn code_lines(&self) -> usize {
        if self.is_test() {
            0
        } else {
            self.lines_in(0..self.masked.len())
        }
    }

    fn lines_in(&self, range: Range<usize>) -> usize {
        let mut at = 0;
        let mut count = 0;
        for line in self.masked.split_inclusive('\n') {
            let inside = range.contains(&at) && !self.tests.iter().any(|tests| tests.contains(&at));
            count += usize::from(inside && !line.trim().is_empty());
            at += line.len();
        }
        count
    }

    /// The functions outside tests.
    pub(crate) fn functions(&self) -> Vec<Function<'_>> {
        let mut functions = Vec::new();
        if self.is_test() {
            return functions;
        }
        for (at, _) in self.masked.match_indices("fn ") {
            let starts_word = self.masked[..at].chars().next_back().is_none_or(|c| !is_word(c));
            if starts_word && !self.tests.iter().any(|tests| tests.contains(&at)) {
                functions.extend(self.function_at(at));
            }
        }
        functions
    }

    fn function_at(&self, at: usize) -> Option<Function<'_>> {
        let rest = &self.masked[at + 3..];
        let name_end = rest.find(|c| !is_word(c))?;
        let name = &rest[..name_end];
        let open = at + body_start(&self.masked[at..])?;
        let close = closing(&self.masked, open)?;
        let line_start = self.masked[..at].rfind('\n').map_or(0, |newline| newline + 1);
        let first_line_end = self.masked[open..]
            .find('\n')
            .map_or(close, |newline| open + newline + 1);
        let last_line_start = self.masked[..close]
            .rfind('\n')
            .map_or(open, |newline| newline + 1);
        (!name.is_empty()).then(|| Function {
            name,
            signature: &self.masked[at..open],
            is_public: self.masked[line_start..at].trim_start().starts_with("pub "),
            lines: self.lines_in(first_line_end..last_line_start.max(first_line_end)),
        })
    }
}

fn collect(root: &Path, folder: &Path, sources: &mut Vec<Source>) -> Result<()> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Ok(()); // a shelf that does not exist yet
    };
    for entry in entries {
        let path = entry?.path();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if path.is_dir() && name != "target" && !name.starts_with('.') {
            collect(root, &path, sources)?;
        } else if name.ends_with(".rs") {
            let text =
                fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
            let relative = path.strip_prefix(root)?.to_string_lossy().replace('\\', "/");
            sources.push(Source::new(relative, text));
        }
    }
    Ok(())
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Where a function's body opens; `None` for one that has no body.
fn body_start(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.checked_sub(1)?,
            '{' if depth == 0 => return Some(at),
            ';' if depth == 0 => return None,
            _ => {}
        }
    }
    None
}

/// Where the brace at `open` is closed.
fn closing(masked: &str, open: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, c) in masked[open..].char_indices() {
        match c {
            '{' => depth += 1,
            '}' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(open + at);
                }
            }
            _ => {}
        }
    }
    None
}

/// The items under `#[cfg(test)]`, each to its closing brace or semicolon.
fn test_ranges(masked: &str) -> Vec<Range<usize>> {
    masked
        .match_indices("#[cfg(test)]")
        .map(|(start, attribute)| {
            let item = start + attribute.len();
            let end = match body_start(&masked[item..]) {
                Some(open) => closing(masked, item + open).unwrap_or(masked.len()),
                None => masked[item..].find(';').map_or(masked.len(), |at| item + at),
            };
            start..end + 1
        })
        .collect()
}

/// The text with comments blank and the insides of literals filled, byte for byte as long.
fn mask(text: &str) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let previous = masked.chars().next_back();
        let length = literal_length(rest, previous);
        let (taken, fill) = match length {
            Some((length, fill)) => (length, Some(fill)),
            None => (c.len_utf8(), None),
        };
        let (token, after) = rest.split_at(taken);
        match fill {
            None => masked.push_str(token),
            Some(fill) => masked.extend(token.bytes().map(|byte| if byte == b'\n' { '\n' } else { fill })),
        }
        rest = after;
    }
    masked
}

/// The length of the comment (filled with blanks) or literal (filled with letters) that `text` starts with.
fn literal_length(text: &str, previous: Option<char>) -> Option<(usize, char)> {
    if text.starts_with("//") {
        return Some((text.find('\n').unwrap_or(text.len()), ' '));
    }
    if text.starts_with("/*") {
        return Some((block_comment_length(text), ' '));
    }
    if text.starts_with('"') {
        return Some((quoted_length(text), 's'));
    }
    if text.starts_with('r') && !previous.is_some_and(|c| is_word(c) && c != 'b') {
        let hashes = text[1..].bytes().take_while(|byte| *byte == b'#').count();
        if text[1 + hashes..].starts_with('"') {
            let end = format!("\"{}", "#".repeat(hashes));
            let body = 2 + hashes;
            let length = text[body..]
                .find(&end)
                .map_or(text.len(), |at| body + at + end.len());
            return Some((length, 's'));
        }
    }
    if text.starts_with('\'') {
        return character_length(text).map(|length| (length, 's'));
    }
    None
}

fn block_comment_length(text: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < text.len() {
        let rest = &text.as_bytes()[at..];
        if rest.starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if rest.starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                break;
            }
        } else {
            at += 1;
        }
    }
    at
}

fn quoted_length(text: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// A character literal, not a lifetime: closed after one character or one escape.
fn character_length(text: &str) -> Option<usize> {
    let inside = &text[1..];
    if let Some(escape) = inside.strip_prefix('\\') {
        return escape
            .char_indices()
            .skip(1)
            .find(|(_, c)| *c == '\'')
            .map(|(at, _)| at + 3);
    }
    let c = inside.chars().next()?;
    inside[c.len_utf8()..].starts_with('\'').then(|| c.len_utf8() + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r##"//! A file.
use std::fmt; // why

/* not
   code */
pub fn first(a: [u8; 4], on: bool) -> char {
    let text = "fn not_one() { // }";
    let raw = r#"} " fn"#;

    match a { _ => '{' }
}

trait Shape { fn bodyless(&self); }

#[cfg(test)]
mod tests {
    fn only_for_tests() {
        assert!(true);
    }
}

fn last<'a>(x: &'a str) -> &'a str { x }
"##;

    #[test]
    fn code_is_counted_without_comments_and_tests() {
        let source = Source::new("core/x/src/lib.rs", FILE);
        assert_eq!(source.code_lines(), 1 + 5 + 1 + 1);
        assert_eq!(Source::new("core/x/tests/it/main.rs", FILE).code_lines(), 0);
    }

    #[test]
    fn functions_are_found_with_their_sizes() {
        let source = Source::new("core/x/src/lib.rs", FILE);
        let found: Vec<_> = source
            .functions()
            .iter()
            .map(|function| (function.name.to_owned(), function.is_public, function.lines))
            .collect();
        assert_eq!(
            found,
            [("first".to_owned(), true, 3), ("last".to_owned(), false, 0)]
        );
    }

    #[test]
    fn a_masked_text_keeps_its_length_and_lines() {
        let masked = mask(FILE);
        assert_eq!(masked.len(), FILE.len());
        assert_eq!(masked.lines().count(), FILE.lines().count());
        assert!(!masked.contains("not_one"));
        assert_eq!(mask(r"'\'' '\u{1f}' 'x' <'a>"), "ssss ssssssss sss <'a>");
    }
}
