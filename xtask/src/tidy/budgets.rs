//! How much code the house may have: lines of Rust without comments, blank lines and tests.

use super::Complaint;
use super::source::Source;

/// What counts together, the paths it has, and its lines at most; ADR 0021 says what earned them. To raise one, say there
/// why.
const BUDGETS: &[(&str, &[&str], usize)] = &[
    ("wire", &["core/wire/", "core/wire-derive/"], 9_000),
    ("storage", &["core/storage/"], 7_100),
    ("replication", &["core/replication/"], 1_400),
    (
        "metadata",
        &["core/metadata/", "core/controller/", "core/quorum/"],
        5_100,
    ),
    ("coordinator", &["core/coordinator/"], 3_300),
    ("broker", &["crates/broker/", "crates/transport/"], 12_100),
    ("client", &["crates/client/"], 5_950),
    ("tools", &["crates/cli/"], 7_700),
    ("proof", &["core/sim/", "crates/conformance/", "xtask/"], 8_700),
    ("bench", &["bench/"], 1_900),
    ("the whole house", &[""], 62_500),
];

/// How much of each budget is used, in words.
pub(super) fn usage(sources: &[Source]) -> String {
    let rows = BUDGETS
        .iter()
        .map(|(name, paths, most)| format!("{name}: {} of {most} lines", lines_under(sources, paths)));
    rows.collect::<Vec<_>>().join("; ")
}

/// Budgets that are exceeded.
pub(super) fn check(sources: &[Source]) -> Vec<Complaint> {
    BUDGETS
        .iter()
        .filter_map(|(name, paths, most)| {
            let lines = lines_under(sources, paths);
            (lines > *most).then(|| Complaint {
                size: Some(lines),
                ..Complaint::new("budget", *name, format!("{lines} lines of code, {most} at most"))
            })
        })
        .collect()
}

fn lines_under(sources: &[Source], paths: &[&str]) -> usize {
    sources
        .iter()
        .filter(|source| paths.iter().any(|path| source.path.starts_with(path)))
        .map(Source::code_lines)
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_counts_its_folders_only() {
        let most_of = |room| BUDGETS.iter().find(|(name, ..)| *name == room).unwrap().2;
        let too_many = most_of("storage") + 1;
        let sources = [
            Source::new("core/storage/src/lib.rs", "use a;\n".repeat(too_many)),
            Source::new("core/storage/src/tests.rs", "use a;\n".repeat(90_000)),
            Source::new("core/wire/src/lib.rs", "use a;\n".repeat(most_of("wire"))),
        ];
        let places: Vec<_> = check(&sources)
            .into_iter()
            .map(|complaint| (complaint.place, complaint.size))
            .collect();
        assert_eq!(places, [("storage".to_owned(), Some(too_many))]);
    }
}
