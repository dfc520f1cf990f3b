//! What requests cost: instructions, system calls and allocations of the built broker, counted by callgrind while a
//! fixed trace is replayed, against a committed baseline.
//!
//! Each row is warmed up, then counted in blocks, and the least block is divided by its requests: start-up and stray
//! timers do not show. Counts are the same on a busy machine as on a quiet one, to about a hundredth; seconds are not.
//! The tolerances are the noise of five runs on two cores with two to ten runnable threads beside, and a little more.
//! Between the runs most rows differed by up to 2 % of the instructions, 0.4 system calls and 0.3 allocations a request.
//! Wider were: 16 KiB with fsync, 8.9 to 10 system calls; 1 MiB, 5.4 to 9.4 system calls and 13 to 16.5 allocations, with
//! fsync 10.6 to 14.4 and 25 to 28; ten partitions with fsync, 399,000 to 612,000 instructions, 29 to 35 system calls and
//! 109 to 119 allocations, more where more of it goes through the journal. No count may double.

mod baseline;
mod callgrind;
mod messages;
mod trace;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::Args;

use crate::node::{Node, fresh_dir};
use baseline::Table;
use callgrind::Callgrind;
use trace::{Row, Trace};

/// Blocks of requests that are counted a row; the median is the row's. A block is short, so that what the broker does
/// every second falls into few of them.
const BLOCKS: usize = 7;
/// Settings that leave one thread of each kind, and nothing that happens by the clock.
const SETTINGS: [&str; 5] = [
    "num.network.threads=1",
    "num.io.threads=1",
    "offsets.topic.num.partitions=1",
    "group.max.session.timeout.ms=1800000",
    "connections.max.idle.ms=-1",
];

/// What is counted against what.
#[derive(Args)]
pub(crate) struct Options {
    /// The committed counts.
    #[arg(long, value_name = "FILE")]
    baseline: PathBuf,
    /// Write the counts there instead of comparing.
    #[arg(long, conflicts_with = "only")]
    write: bool,
    /// Only rows whose name contains this.
    #[arg(long, default_value = "")]
    only: String,
}

/// What one request costs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Cost {
    instructions: f64,
    system_calls: f64,
    allocations: f64,
}

impl Cost {
    fn each(self, requests: usize) -> Cost {
        let requests = requests as f64;
        Cost {
            instructions: (self.instructions / requests).round(),
            system_calls: (self.system_calls / requests * 10.0).round() / 10.0,
            allocations: (self.allocations / requests * 10.0).round() / 10.0,
        }
    }
}

/// Counts every row. True when all are within their tolerance of the baseline, or were written to it.
pub(crate) fn run(binary: &Path, work: &Path, options: &Options) -> Result<bool> {
    let home = fresh_dir(&work.join("counts"))?;
    let callgrind = Callgrind::in_folder(&home)?;
    let mut node = Node::new(binary, &home, &home.join("data"), &SETTINGS)?.under(callgrind.command());
    node.format()?;
    node.start()?;
    let pid = node.pid().context("the broker runs")?;
    let mut trace = Trace::begin(&node, pid, binary)?;
    let mut counted = Table::default();
    for row in Row::ALL.iter().filter(|row| row.name.contains(&options.only)) {
        let cost = count(&callgrind, pid, &mut trace, row).with_context(|| row.name.to_owned())?;
        println!(
            "{:<62} {:>9} instructions, {:>5} system calls, {:>5} allocations",
            row.name, cost.instructions, cost.system_calls, cost.allocations
        );
        counted.add(row, cost);
    }
    node.stop()?;
    if options.write {
        std::fs::write(&options.baseline, counted.to_string())?;
        return Ok(true);
    }
    let text = std::fs::read_to_string(&options.baseline)
        .with_context(|| format!("no baseline {}", options.baseline.display()))?;
    let moves = Table::parse(&text)?.only(&options.only).moves(&counted);
    for line in &moves {
        println!("{line}");
    }
    if !moves.is_empty() {
        println!("{}", baseline::ADVICE);
    }
    Ok(moves.is_empty())
}

/// The least block of a row, a request.
fn count(callgrind: &Callgrind, pid: u32, trace: &mut Trace, row: &Row) -> Result<Cost> {
    trace.prepare(row)?;
    trace.replay(row, row.warm_up)?;
    callgrind.dump(pid)?;
    let mut blocks = [Cost::default(); BLOCKS];
    for block in &mut blocks {
        trace.replay(row, row.requests)?;
        *block = callgrind.dump(pid)?;
    }
    Ok(least(&blocks).each(row.requests))
}

/// The least of each count: what disturbs a block adds to it, and a cost that grew is in all of them.
fn least(blocks: &[Cost]) -> Cost {
    let least = |count: fn(&Cost) -> f64| blocks.iter().map(count).fold(f64::INFINITY, f64::min);
    Cost {
        instructions: least(|block| block.instructions),
        system_calls: least(|block| block.system_calls),
        allocations: least(|block| block.allocations),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_is_its_least_over_the_blocks() {
        let block = |instructions, system_calls, allocations| Cost {
            instructions,
            system_calls,
            allocations,
        };
        let blocks = [
            block(10.0, 4.0, 9.0),
            block(30.0, 2.0, 8.0),
            block(20.0, 3.0, 7.0),
        ];
        assert_eq!(least(&blocks), block(10.0, 2.0, 7.0));
    }
}
