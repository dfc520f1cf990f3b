//! Callgrind around the broker: how it is started, and what its dumps say.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use super::Cost;

/// The allocator's entry points that Rust's global allocator calls: each call is one allocation.
const ALLOCATIONS: [&str; 3] = ["mi_malloc_aligned", "mi_zalloc_aligned", "mi_realloc_aligned"];
/// The longest that writing a dump takes.
const DUMP_MAX: Duration = Duration::from_secs(30);

pub(super) struct Callgrind {
    folder: PathBuf,
}

impl Callgrind {
    pub(super) fn in_folder(folder: &Path) -> Result<Callgrind> {
        let version = Command::new("valgrind").arg("--version").output();
        if !version.is_ok_and(|output| output.status.success()) {
            bail!("valgrind is needed, and is not installed");
        }
        Ok(Callgrind {
            folder: folder.to_owned(),
        })
    }

    /// What the broker's command line is put behind.
    pub(super) fn command(&self) -> Vec<OsString> {
        let mut out = OsString::from("--callgrind-out-file=");
        out.push(self.folder.join("callgrind.out"));
        let words = [
            "valgrind",
            "--quiet",
            "--tool=callgrind",
            "--collect-systime=yes",
            "--compress-strings=no",
            "--compress-pos=no",
            // Threads take turns; without this the one that waits longest does not get the next.
            "--fair-sched=try",
        ];
        words.into_iter().map(OsString::from).chain([out]).collect()
    }

    /// What was counted since the last dump. The process must be idle.
    pub(super) fn dump(&self, pid: u32) -> Result<Cost> {
        let before = self.dumps()?;
        let output = Command::new("vgdb")
            .arg(format!("--pid={pid}"))
            .arg("dump")
            .output()?;
        if !output.status.success() {
            bail!("vgdb: {}", String::from_utf8_lossy(&output.stderr).trim());
        }
        let deadline = Instant::now() + DUMP_MAX;
        while Instant::now() < deadline {
            let new = self.dumps()?.into_iter().find(|path| !before.contains(path));
            if let Some(path) = new
                && let Some(cost) = parse(&std::fs::read_to_string(&path)?)?
            {
                return Ok(cost);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        bail!("callgrind wrote no dump within {DUMP_MAX:?}");
    }

    fn dumps(&self) -> Result<Vec<PathBuf>> {
        let mut dumps = Vec::new();
        for entry in std::fs::read_dir(&self.folder)? {
            let path = entry?.path();
            let is_dump = path
                .file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with("callgrind.out."));
            dumps.extend(is_dump.then_some(path));
        }
        Ok(dumps)
    }
}

/// The sums of a dump; `None` while it is being written.
fn parse(dump: &str) -> Result<Option<Cost>> {
    let line = |key: &str| dump.lines().find_map(|line| line.strip_prefix(key));
    // The last line of a whole dump.
    let Some(totals) = line("totals: ") else {
        return Ok(None);
    };
    let events = line("events: ").context("a dump without events")?;
    let total = |event: &str| {
        let index = events.split_whitespace().position(|name| name == event);
        // Trailing zeros are left out.
        let value = index
            .and_then(|index| totals.split_whitespace().nth(index))
            .unwrap_or("0");
        value
            .parse::<f64>()
            .with_context(|| format!("{event} in {totals:?}"))
    };
    let system_calls_at = events.split_whitespace().position(|name| name == "sysCount");
    let (mut allocations, mut clock_reads) = (0.0, 0.0);
    let (mut function, mut callee, mut is_call) = ("", "", false);
    for line in dump.lines() {
        if let Some(name) = line.strip_prefix("fn=") {
            function = name;
        } else if let Some(name) = line.strip_prefix("cfn=") {
            callee = name;
        } else if let Some(calls) = line.strip_prefix("calls=") {
            // The line after it is what the call cost, which is counted where it is spent.
            is_call = true;
            if ALLOCATIONS.contains(&callee) {
                allocations += number(calls.split_whitespace().next())?;
            }
        } else if line.starts_with(|first: char| first.is_ascii_digit()) && !std::mem::take(&mut is_call) {
            // Valgrind hides the page by which a clock is read without a system call.
            if function.starts_with("clock_gettime") {
                let column = system_calls_at.and_then(|at| line.split_whitespace().nth(at + 1));
                clock_reads += number(column)?;
            }
        }
    }
    Ok(Some(Cost {
        instructions: total("Ir")?,
        system_calls: total("sysCount")? - clock_reads,
        allocations,
    }))
}

/// A column; zeros at the end of a line are left out.
fn number(column: Option<&str>) -> Result<f64> {
    Ok(column.unwrap_or("0").parse::<f64>()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dump_adds_up_to_instructions_system_calls_and_allocations() {
        let dump = "events: Ir sysCount sysTime\n\nfn=main\ncfn=mi_malloc_aligned\ncalls=3 0\n0 40\ncfn=other\n\
                    calls=9 0\n0 5\nfn=b\ncfn=mi_realloc_aligned\ncalls=2 0\n0 1\nfn=clock_gettime@@GLIBC_2.17\n0 10 4\n";
        assert_eq!(parse(dump).unwrap(), None);
        let cost = parse(&format!("{dump}totals: 100 7 3\n")).unwrap().unwrap();
        assert_eq!(
            (cost.instructions, cost.system_calls, cost.allocations),
            (100.0, 3.0, 5.0)
        );
    }
}
