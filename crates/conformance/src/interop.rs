//! One data directory, two brokers: what Apache Kafka wrote opens here, and Apache Kafka opens what we wrote.
//!
//! The golden directory (`tests/golden`) was written by Apache Kafka 4.3.1. It goes to us, back to Kafka, and to us once
//! more; every time all records and committed offsets have to be there. Then Kafka's own `kafka-dump-log` reads every
//! file of a directory that is all ours.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};

use crate::node::{Node, fresh_dir, output_file};

const KAFKA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/peers/kafka");
const COMMITTED_OFFSET: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/peers/committed.py");
const GOLDEN: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../tests/golden/kafka-data-4.3.1.tar.gz"
);

/// The records of each topic of the golden directory; of `transactions` those that are committed.
const RECORDS: [(&str, usize); 9] = [
    ("plain", 1500),
    ("codec-gzip", 300),
    ("codec-snappy", 300),
    ("codec-lz4", 300),
    ("codec-zstd", 300),
    ("compacted", 29),
    ("append-time", 50),
    ("deleted-prefix", 13),
    ("transactions", 80),
];

/// The committed offsets: group, topic, partition, offset.
const COMMITTED: [(&str, &str, &str, &str); 3] = [
    ("golden-group", "plain", "0", "179"),
    ("golden-group", "plain", "1", "521"),
    ("golden-next", "codec-lz4", "0", "200"),
];

/// What `kafka-dump-log` prints only about a file that is not sound.
const COMPLAINTS: [&str; 7] = [
    "mismatch",
    "corrupt",
    "exception",
    "isvalid: false",
    "non-consecutive",
    "could not",
    "invalid",
];

/// Runs both directions; an error is the first thing that was wrong.
pub(crate) fn run(binary: &Path, work: &Path) -> Result<bool> {
    round_trip(binary, &fresh_dir(&work.join("interop"))?)?;
    dump(binary, &fresh_dir(&work.join("interop"))?)?;
    Ok(true)
}

/// Kafka's directory here, at Kafka's, and here again.
fn round_trip(binary: &Path, home: &Path) -> Result<()> {
    call("tar", &["xzf", GOLDEN, "-C", &home.display().to_string()])?;
    let data = home.join("kafka-data-4.3.1/data");
    // The records are stamped 2023: retention would take them before they are counted.
    let settings = ["log.retention.ms=-1", "offsets.topic.num.partitions=3"];
    let mut node = Node::with_id(1, binary, home, &data, &settings)?;
    node.start()?;
    check(&node, "here", 0)?;
    write_record(&node)?;
    node.stop()?;
    let mut kafka = start_kafka(&node, home)?;
    let found = check(&node, "at Apache Kafka", 1);
    stop_kafka(&mut kafka)?;
    found?;
    node.start()?;
    check(&node, "here again", 1)?;
    node.stop()?;
    Ok(())
}

/// Counts everything; `added` records were written to `plain` since.
fn check(node: &Node, place: &str, added: usize) -> Result<()> {
    for (topic, records) in RECORDS {
        let wanted = if topic == "plain" {
            records + added
        } else {
            records
        };
        let text = kcat(
            node,
            &["-C", "-t", topic, "-o", "beginning", "-e", "-q", "-f", "%o\n"],
        )?;
        let found = text.lines().count();
        ensure!(
            found == wanted,
            "{place}: topic {topic} has {found} records, not {wanted}"
        );
    }
    for (group, topic, partition, offset) in COMMITTED {
        let found = call(COMMITTED_OFFSET, &[node.bootstrap(), group, topic, partition])?;
        ensure!(
            found.trim() == offset,
            "{place}: group {group} has committed {} of {topic}-{partition}, not {offset}",
            found.trim()
        );
    }
    println!("golden directory {place}: every record and committed offset is there");
    Ok(())
}

fn write_record(node: &Node) -> Result<()> {
    let mut child = Command::new("kcat")
        .args(["-b", node.bootstrap(), "-P", "-t", "plain", "-p", "0", "-K", ":"])
        .stdin(Stdio::piped())
        .spawn()
        .context("kcat is needed (Debian's package kcat)")?;
    if let Some(stdin) = &mut child.stdin {
        std::io::Write::write_all(stdin, b"key:one more\n")?;
    }
    ensure!(child.wait()?.success(), "kcat could not write");
    Ok(())
}

/// Apache Kafka on the same configuration file.
fn start_kafka(node: &Node, home: &Path) -> Result<Child> {
    let log = home.join("kafka.log");
    let output = output_file(&log)?;
    let child = Command::new(KAFKA)
        .env("KAFKA_LOG", "info")
        .arg("run")
        .arg("kafka.Kafka")
        .arg(node.properties())
        .stdout(output.try_clone()?)
        .stderr(output)
        .spawn()?;
    let mut kafka = child;
    let deadline = Instant::now() + Duration::from_secs(60);
    while !fs::read_to_string(&log)?.contains("Kafka Server started") {
        if kafka.try_wait()?.is_some() || Instant::now() > deadline {
            let _ = kafka.kill();
            bail!("Apache Kafka does not open the directory; see {}", log.display());
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    Ok(kafka)
}

/// The runner has replaced itself by Java, so the child is the broker.
fn stop_kafka(kafka: &mut Child) -> Result<()> {
    call("kill", &["-TERM", &kafka.id().to_string()])?;
    kafka.wait()?;
    Ok(())
}

/// Kafka's own tool over every file of a directory that only we have written.
fn dump(binary: &Path, home: &Path) -> Result<()> {
    let data = home.join("data");
    let settings = [
        "num.partitions=2",
        "offsets.topic.num.partitions=3",
        "log.segment.bytes=1048576",
    ];
    let mut node = Node::new(binary, home, &data, &settings)?;
    node.format()?;
    node.start()?;
    let input = home.join("input");
    fs::write(
        &input,
        "key:some value of a record, long enough to fill segments\n".repeat(40_000),
    )?;
    for (topic, codec) in [
        ("none", "none"),
        ("zstd", "zstd"),
        ("lz4", "lz4"),
        ("gzip", "gzip"),
        ("snappy", "snappy"),
    ] {
        let arguments = [
            "-P",
            "-t",
            topic,
            "-K",
            ":",
            "-z",
            codec,
            "-X",
            "enable.idempotence=true",
            "-l",
        ];
        kcat(&node, &[&arguments[..], &[&input.display().to_string()]].concat())?;
    }
    kcat(
        &node,
        &[
            "-G",
            "interop",
            "-X",
            "auto.offset.reset=earliest",
            "-c",
            "100",
            "-q",
            "none",
            "zstd",
        ],
    )?;
    node.stop()?;
    let mut files = 0;
    for folder in fs::read_dir(&data)? {
        let folder = folder?.path();
        if folder.is_dir() {
            files += dump_folder(&folder)?;
        }
    }
    println!("kafka-dump-log read {files} files of ours without complaint");
    Ok(())
}

fn dump_folder(folder: &Path) -> Result<usize> {
    let name = folder
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let decoder = match () {
        () if name.starts_with("__cluster_metadata") => "--cluster-metadata-decoder",
        () if name.starts_with("__consumer_offsets") => "--offsets-decoder",
        () => "--print-data-log",
    };
    let is_ours = |path: &PathBuf| {
        let extension = path
            .extension()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        ["log", "index", "timeindex", "txnindex", "snapshot", "checkpoint"].contains(&extension.as_str())
    };
    let mut files: Vec<PathBuf> = fs::read_dir(folder)?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<_>>()?;
    files.retain(is_ours);
    if files.is_empty() {
        return Ok(0);
    }
    let list: Vec<String> = files.iter().map(|path| path.display().to_string()).collect();
    let list = list.join(",");
    let text = call(
        KAFKA,
        &[
            "run",
            "kafka-dump-log",
            "--deep-iteration",
            decoder,
            "--files",
            &list,
        ],
    )?;
    for line in text.lines() {
        let line = line.to_lowercase();
        // A record's own words are not the tool's.
        let talk = line.split("payload:").next().unwrap_or_default();
        if COMPLAINTS.iter().any(|complaint| talk.contains(complaint)) {
            bail!("kafka-dump-log complains about {name}: {line}");
        }
    }
    Ok(files.len())
}

fn kcat(node: &Node, arguments: &[&str]) -> Result<String> {
    call(
        "kcat",
        &[
            &["-b", node.bootstrap(), "-X", "isolation.level=read_committed"],
            arguments,
        ]
        .concat(),
    )
}

/// Runs a program to its end and gives what it printed; an error when it failed.
fn call(program: &str, arguments: &[&str]) -> Result<String> {
    let output = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot run {program}"))?;
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        bail!(
            "{program} {}: {}",
            arguments.join(" "),
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    Ok(printed)
}
