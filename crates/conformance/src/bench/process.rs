//! What the operating system says of processes and of the machine.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use anyhow::{Context as _, Result};

/// Fields of `/proc/PID/stat`, counted from behind the name.
const PARENT: usize = 1;
const USER: usize = 11;
const SYSTEM: usize = 12;
const USER_OF_CHILDREN: usize = 13;
const SYSTEM_OF_CHILDREN: usize = 14;

/// User and system time of a process and all below it so far, in seconds.
pub(super) fn tree_cpu(pid: u32) -> Result<f64> {
    let all = all_stats();
    let ticks: f64 = tree(pid, &all)
        .filter_map(|pid| all.get(&pid))
        .map(|stat| number(stat, USER) + number(stat, SYSTEM))
        .sum();
    Ok(ticks / ticks_per_second())
}

/// Resident memory of a process and all below it, in megabytes of 2^20 bytes.
pub(super) fn tree_resident_mb(pid: u32) -> Result<f64> {
    let all = all_stats();
    let kilobytes: f64 = tree(pid, &all).map(resident_kb).sum();
    Ok(kilobytes / 1024.0)
}

/// User and system time of the children that this program has waited for, in seconds.
pub(super) fn children_cpu() -> Result<f64> {
    let stat = stat_of("self").context("no /proc/self/stat")?;
    Ok((number(&stat, USER_OF_CHILDREN) + number(&stat, SYSTEM_OF_CHILDREN)) / ticks_per_second())
}

/// Bytes that went over the loopback so far, headers and all.
pub(super) fn loopback_bytes() -> Result<f64> {
    let text = fs::read_to_string("/proc/net/dev")?;
    let line = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("lo:"))
        .context("no loopback")?;
    Ok(line.split_whitespace().next().context("no count")?.parse()?)
}

/// What kept the machine busy up to a moment.
pub(super) struct Machine {
    /// User time of everything, and time that the host took, in ticks.
    busy: f64,
    idle: f64,
    /// User time of this program, its children, and those below it that still run.
    ours: f64,
}

impl Machine {
    /// As of now. Only user time counts: the kernel works for us without saying so.
    pub(super) fn now() -> Result<Machine> {
        let text = fs::read_to_string("/proc/stat")?;
        let fields: Vec<f64> = text
            .lines()
            .next()
            .unwrap_or_default()
            .split_whitespace()
            .skip(1)
            .filter_map(|field| field.parse().ok())
            .collect();
        let [user, nice, system, idle, wait, interrupt, soft, stolen, ..] = fields[..] else {
            anyhow::bail!("/proc/stat has another form");
        };
        let all = all_stats();
        let ours: f64 = tree(std::process::id(), &all)
            .chain([STRAY.load(Ordering::Relaxed)])
            .filter_map(|pid| all.get(&pid))
            .map(|stat| number(stat, USER) + number(stat, USER_OF_CHILDREN))
            .sum();
        Ok(Machine {
            busy: user + nice + stolen,
            idle: idle + wait + system + interrupt + soft,
            ours: ours + ENDED_STRAYS.load(Ordering::Relaxed) as f64,
        })
    }

    /// The share of the machine that neither we nor our brokers took since then.
    pub(super) fn strangers_since(&self, before: &Machine) -> f64 {
        let busy = self.busy - before.busy;
        let total = busy + self.idle - before.idle;
        ((busy - (self.ours - before.ours)) / total.max(1.0)).max(0.0)
    }
}

/// The stray that runs; there is one at most.
static STRAY: AtomicU32 = AtomicU32::new(0);
/// User time, in ticks, of strays that have ended.
static ENDED_STRAYS: AtomicU64 = AtomicU64::new(0);

/// A process that a script left running for us: ours, but not below us, so that its time is not in our children's.
pub(super) struct Stray(u32);

impl Stray {
    /// The process that a file names, begun just now.
    pub(super) fn started(pid_file: &Path) -> Result<Stray> {
        let pid = fs::read_to_string(pid_file)?.trim().parse()?;
        STRAY.store(pid, Ordering::Relaxed);
        Ok(Stray(pid))
    }

    pub(super) fn pid(&self) -> u32 {
        self.0
    }

    /// It is about to be ended: its time is noted while it can be read.
    pub(super) fn ends(&self) {
        let is_last = STRAY.compare_exchange(self.0, 0, Ordering::Relaxed, Ordering::Relaxed);
        if let (Ok(_), Some(stat)) = (is_last, stat_of(&self.0.to_string())) {
            ENDED_STRAYS.fetch_add(number(&stat, USER) as u64, Ordering::Relaxed);
        }
    }
}

/// A process and all below it.
fn tree(root: u32, all: &HashMap<u32, Vec<String>>) -> impl Iterator<Item = u32> {
    let mut found = vec![root];
    let mut at = 0;
    while let Some(parent) = found.get(at).copied() {
        let children = all
            .iter()
            .filter(|(_, stat)| number(stat, PARENT) as u32 == parent)
            .map(|(pid, _)| *pid);
        found.extend(children);
        at += 1;
    }
    found.into_iter()
}

fn all_stats() -> HashMap<u32, Vec<String>> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return HashMap::new();
    };
    entries
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name();
            let pid = name.to_str()?.parse().ok()?;
            Some((pid, stat_of(name.to_str()?)?))
        })
        .collect()
}

/// The fields behind the name, which stands in parentheses and may hold blanks.
fn stat_of(process: &str) -> Option<Vec<String>> {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let rest = text.rsplit(')').next()?;
    Some(rest.split_whitespace().map(str::to_owned).collect())
}

fn number(stat: &[String], field: usize) -> f64 {
    stat.get(field).and_then(|text| text.parse().ok()).unwrap_or(0.0)
}

fn resident_kb(pid: u32) -> f64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .and_then(|rest| rest.split_whitespace().next()?.parse().ok())
        .unwrap_or(0.0)
}

fn ticks_per_second() -> f64 {
    rustix::param::clock_ticks_per_second() as f64
}
