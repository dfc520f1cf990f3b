//! Foreign clients' suites, test by test beside what Apache Kafka 4.3.1 scores.
//!
//! A suite is a program in `peers/suites` that judges any broker by its address and prints a line a test. A test that
//! asks for something not served yet is a named skip in `peers/skips.tsv`; everything else must score as on Kafka.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};
use clap::Args;

use crate::node::{Node, fresh_dir, output_file};

/// Where the suites lie: beside this crate's sources.
const PEERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/peers");

/// Which suites and tests to run.
#[derive(Args)]
pub(crate) struct Options {
    /// The suites to run; all when none is named.
    names: Vec<String>,
    /// Judge the broker at this address instead of starting one.
    #[arg(long, value_name = "HOST:PORT")]
    bootstrap: Option<String>,
    /// Run only tests whose name starts with this.
    #[arg(long, value_name = "PREFIX")]
    only: Option<String>,
}

struct Suite {
    name: &'static str,
    /// A program without which the suite cannot run.
    needs: &'static str,
    /// Only tests that start with one of these; all when empty.
    prefixes: &'static [&'static str],
    settings: &'static [&'static str],
    /// How a selection is handed to the suite.
    selection: Selection,
}

enum Selection {
    /// Every test by name.
    Names,
    /// Words for pytest: the part behind `::`, without parameters.
    Words,
    /// One regular expression over the top-level names.
    Pattern,
}

const SUITES: &[Suite] = &[
    Suite {
        name: "kcat",
        needs: "python3",
        prefixes: &[],
        settings: &["num.partitions=4"],
        selection: Selection::Names,
    },
    Suite {
        name: "confluent-python",
        needs: "python3",
        prefixes: &[],
        settings: &[],
        selection: Selection::Names,
    },
    Suite {
        name: "kafka-python",
        needs: "python3",
        prefixes: &[],
        settings: &["num.partitions=4", "group.min.session.timeout.ms=3000"],
        selection: Selection::Words,
    },
    Suite {
        name: "kafkajs-script",
        needs: "node",
        prefixes: &[],
        settings: &[],
        selection: Selection::Names,
    },
    Suite {
        name: "java-tools",
        needs: "java",
        prefixes: &["topic.", "produce.", "consume.", "group."],
        settings: &[],
        selection: Selection::Names,
    },
    Suite {
        name: "go-franz",
        needs: "go",
        prefixes: &["TestGroupETL"],
        settings: &[],
        selection: Selection::Pattern,
    },
];

/// How often each outcome came.
#[derive(Default)]
struct Score {
    as_kafka: usize,
    worse: usize,
    skipped: usize,
}

/// Runs the chosen suites and prints their table; `true` when no test is worse than on Apache Kafka.
pub(crate) fn run(binary: &Path, work: &Path, options: &Options) -> Result<bool> {
    let skips = read_skips()?;
    let mut good = true;
    let mut table = Vec::new();
    for suite in SUITES {
        if !options.names.is_empty() && !options.names.iter().any(|name| name == suite.name) {
            continue;
        }
        if !on_path(suite.needs) {
            println!(
                "{}\tskip\t{} is not installed on this machine",
                suite.name, suite.needs
            );
            continue;
        }
        let score = judge(suite, binary, work, options, &skips)?;
        good &= score.worse == 0;
        table.push((suite.name, score));
    }
    println!(
        "\n{:<20} {:>14} {:>8} {:>8}",
        "suite", "as on Kafka", "worse", "skipped"
    );
    for (name, score) in &table {
        println!(
            "{name:<20} {:>14} {:>8} {:>8}",
            score.as_kafka, score.worse, score.skipped
        );
    }
    let figures: Vec<String> = table
        .iter()
        .map(|(name, score)| format!("{name} {}/{}/{}", score.as_kafka, score.worse, score.skipped))
        .collect();
    println!("\nas on Kafka/worse/skipped: {}", figures.join(", "));
    Ok(good && !table.is_empty())
}

/// Runs one suite against a fresh broker and compares.
fn judge(suite: &Suite, binary: &Path, work: &Path, options: &Options, skips: &[Skip]) -> Result<Score> {
    let expected = read_results(
        &Path::new(PEERS)
            .join("expected")
            .join(format!("{}.tsv", suite.name)),
    )?;
    let mut score = Score::default();
    let mut wanted = BTreeMap::new();
    for (test, result) in expected {
        let chosen =
            suite.prefixes.is_empty() || suite.prefixes.iter().any(|prefix| test.starts_with(prefix));
        let named = options
            .only
            .as_ref()
            .is_none_or(|prefix| test.starts_with(prefix.as_str()));
        if !chosen || !named {
            continue;
        }
        if let Some(skip) = skips.iter().find(|skip| skip.matches(suite.name, &test)) {
            println!("{}\t{test}\tskip\t{}", suite.name, skip.reason);
            score.skipped += 1;
        } else if matches!(result.outcome.as_str(), "pass" | "skip") {
            wanted.insert(test, result);
        } else {
            println!(
                "{}\t{test}\tskip\tis itself {} on Apache Kafka",
                suite.name, result.outcome
            );
            score.skipped += 1;
        }
    }
    if wanted.is_empty() {
        return Ok(score);
    }
    let home = work.join("suites").join(suite.name);
    let tests = wanted.keys().map(String::as_str).collect();
    let mut got = play(suite, binary, &fresh_dir(&home)?, options, tests)?;
    let worse: Vec<&str> = wanted
        .iter()
        .filter(|(test, want)| !is_as_wanted(&got, test, want))
        .map(|(test, _)| test.as_str())
        .collect();
    if !worse.is_empty() {
        // Some checks time each other out on a busy machine; what is worse by itself, on a broker of its own, is worse.
        println!("{}\tonce more by themselves: {}", suite.name, worse.join(" "));
        got.extend(play(suite, binary, &fresh_dir(&home)?, options, worse)?);
    }
    for (test, want) in &wanted {
        if is_as_wanted(&got, test, want) {
            score.as_kafka += 1;
        } else {
            score.worse += 1;
            let (outcome, detail) = got.get(test).map_or(("missing", ""), |found| {
                (found.outcome.as_str(), found.detail.as_str())
            });
            println!(
                "{}\t{test}\tWORSE\t{} on Apache Kafka, {outcome} here\t{detail}",
                suite.name, want.outcome
            );
        }
    }
    Ok(score)
}

/// Whether a test came out as on Apache Kafka, or better.
fn is_as_wanted(got: &BTreeMap<String, TestResult>, test: &str, want: &TestResult) -> bool {
    got.get(test)
        .is_some_and(|found| found.outcome == want.outcome || found.outcome == "pass")
}

/// Starts the broker the suite asks for and runs the suite's program; its output stays in the suite's folder.
fn play(
    suite: &Suite,
    binary: &Path,
    home: &Path,
    options: &Options,
    tests: Vec<&str>,
) -> Result<BTreeMap<String, TestResult>> {
    let mut node = None;
    let bootstrap = match &options.bootstrap {
        Some(address) => address.clone(),
        None => {
            let mut fresh = Node::new(binary, home, &home.join("data"), suite.settings)?;
            fresh.format()?;
            fresh.start()?;
            node.insert(fresh).bootstrap().to_owned()
        }
    };
    let output = home.join("results.tsv");
    let mut command = Command::new(Path::new(PEERS).join("suites").join(suite.name));
    command.arg(&bootstrap).args(suite.select(&tests));
    command
        .stdin(Stdio::null())
        .stdout(output_file(&output)?)
        .stderr(output_file(&home.join("suite.log"))?);
    command
        .status()
        .with_context(|| format!("cannot run the suite {}", suite.name))?;
    if let Some(node) = &mut node {
        if node.is_running() {
            node.stop()?;
        } else {
            println!(
                "{}\tbroker\tWORSE\tthe broker died; see {}",
                suite.name,
                node.log().display()
            );
            return Ok(BTreeMap::new());
        }
    }
    read_results(&output)
}

impl Suite {
    /// The arguments that make the suite run these tests.
    fn select(&self, tests: &[&str]) -> Vec<String> {
        let mut chosen: Vec<String> = match self.selection {
            Selection::Names => tests.iter().map(|&test| test.to_owned()).collect(),
            Selection::Words => tests.iter().map(|test| word(test).to_owned()).collect(),
            Selection::Pattern => {
                let mut tops: Vec<&str> = tests.iter().filter_map(|test| test.split('/').next()).collect();
                tops.dedup();
                // The variants of a test are chosen by name; franz-go's own names have no `/` inside a part.
                vec![format!(
                    "^({})$/^(range|cooperative-sticky)$/^(static|)$",
                    tops.join("|")
                )]
            }
        };
        chosen.dedup();
        chosen
    }
}

/// `admin::test_x[param]` is `test_x` to pytest's `-k`.
fn word(test: &str) -> &str {
    let name = test.rsplit("::").next().unwrap_or(test);
    name.split('[').next().unwrap_or(name)
}

struct TestResult {
    outcome: String,
    detail: String,
}

/// Lines of `name<TAB>result<TAB>...`; other lines are the suite's own talk.
fn read_results(path: &Path) -> Result<BTreeMap<String, TestResult>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut results = BTreeMap::new();
    for line in text.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        if let [name, outcome, .., detail] = fields.as_slice() {
            results.insert(
                (*name).to_owned(),
                TestResult {
                    outcome: (*outcome).to_owned(),
                    detail: (*detail).to_owned(),
                },
            );
        }
    }
    Ok(results)
}

struct Skip {
    suite: String,
    pattern: String,
    reason: String,
}

impl Skip {
    fn matches(&self, suite: &str, test: &str) -> bool {
        self.suite == suite && glob_matches(&self.pattern, test)
    }
}

fn read_skips() -> Result<Vec<Skip>> {
    let text = std::fs::read_to_string(PathBuf::from(PEERS).join("skips.tsv"))?;
    text.lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .map(|line| match line.split('\t').collect::<Vec<_>>().as_slice() {
            [suite, pattern, reason] if !reason.is_empty() => Ok(Skip {
                suite: (*suite).to_owned(),
                pattern: (*pattern).to_owned(),
                reason: (*reason).to_owned(),
            }),
            _ => anyhow::bail!("skips.tsv: every line is suite, pattern and reason: {line:?}"),
        })
        .collect()
}

/// `*` stands for any text.
fn glob_matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else {
        return false;
    };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else {
        return rest.is_empty();
    };
    for part in middle {
        match rest.find(part) {
            Some(at) => rest = rest.get(at + part.len()..).unwrap_or_default(),
            None => return false,
        }
    }
    rest.len() >= last.len() && rest.ends_with(last)
}

fn on_path(program: &str) -> bool {
    std::env::var_os("PATH")
        .is_some_and(|paths| std::env::split_paths(&paths).any(|dir| dir.join(program).is_file()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_text() {
        assert!(glob_matches("txn.*", "txn.commit"));
        assert!(glob_matches("*-consumer", "group.list-consumer"));
        assert!(glob_matches(
            "TestGroupETL/*/848*",
            "TestGroupETL/sticky/848/static"
        ));
        assert!(glob_matches("admin.scram", "admin.scram"));
        assert!(!glob_matches("admin.scram", "admin.scram2"));
        assert!(!glob_matches("txn.*", "produce.txn.x"));
        assert!(!glob_matches("TestGroupETL/*/848*", "TestGroupETL/range"));
    }

    #[test]
    fn every_skip_names_a_test_that_exists() {
        for skip in read_skips().unwrap() {
            let expected = Path::new(PEERS)
                .join("expected")
                .join(format!("{}.tsv", skip.suite));
            let known = read_results(&expected).unwrap();
            assert!(
                known.keys().any(|test| skip.matches(&skip.suite, test)),
                "{} {}",
                skip.suite,
                skip.pattern
            );
        }
    }

    #[test]
    fn pytest_words_have_no_module_and_no_parameters() {
        assert_eq!(word("producer::test_end_to_end[gzip]"), "test_end_to_end");
        assert_eq!(
            word("ssl::TestSSLConnection::test_ssl_handshake"),
            "test_ssl_handshake"
        );
    }
}
