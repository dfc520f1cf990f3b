//! Measuring, with few records: what is printed, and what is in the topic afterwards.

use serde_json::Value;

use crate::gracchus::{Dev, run};

/// A line with each number in it as one `#`.
fn shape(line: &str) -> String {
    let mut shape = String::new();
    for letter in line.chars() {
        let is_number = letter.is_ascii_digit() || letter == '.' && shape.ends_with('#');
        match is_number {
            true if shape.ends_with('#') => {}
            true => shape.push('#'),
            false => shape.push(letter),
        }
    }
    shape
}

const TOTAL: &str = " records sent, # records/sec (# MB/sec), # ms avg latency, # ms max latency, # ms #th, # ms #th, \
                     # ms #th, # ms #th.";

#[test]
fn the_producer_script_sends_what_it_is_told_and_prints_kafkas_lines() {
    let dev = Dev::start();
    let payloads = dev.folder.path().join("payloads");
    std::fs::write(&payloads, "a\nbb\n").unwrap();
    let warm = [
        "kafka-producer-perf-test.sh",
        "--topic",
        "p",
        "--num-records",
        "40",
        "--record-size",
        "10",
        "--throughput",
        "2000",
        "--warmup-records",
        "10",
        "--reporting-interval",
        "1",
        "--print-metrics",
        "--producer-props",
        "linger.ms=0",
        "acks=1",
    ];
    let out = dev.script(&warm, "").ok();
    let lines: Vec<String> = out.lines().map(shape).collect();
    assert!(
        out.starts_with("Option --producer-props has been deprecated and will be removed"),
        "{out}"
    );
    assert!(
        lines[1].starts_with("Warmup first # records. Steady state results will print after"),
        "{out}"
    );
    assert!(out.contains("\nIn steady state.\n"), "{out}");
    assert!(
        lines
            .iter()
            .any(|line| line.ends_with("(# MB/sec), # ms avg latency, # ms max latency.")),
        "{out}"
    );
    assert!(lines.contains(&format!("#{TOTAL}")), "{out}");
    assert!(lines.contains(&format!("# steady state{TOTAL}")), "{out}");
    let metric = |name: &str| {
        out.lines()
            .find(|line| line.starts_with(name))
            .unwrap()
            .to_owned()
    };
    assert!(
        metric("producer-metrics:record-send-total:{client-id=perf-producer-client}").ends_with(" : 40.000")
    );
    let file = [
        "kafka-producer-perf-test",
        "--topic",
        "f",
        "--num-records",
        "30",
        "--throughput",
        "-1",
        "--payload-file",
        payloads.to_str().unwrap(),
    ];
    let out = dev.script(&file, "").ok();
    assert!(out.contains("\nNumber of records read: 2\n"), "{out}");
    let values = dev.run(&["consume", "f", "--from-beginning", "-e"]).ok();
    assert_eq!(values.lines().count(), 30);
    assert!(
        values.lines().all(|value| value == "a" || value == "bb"),
        "{values}"
    );
}

#[test]
fn a_script_that_cannot_do_what_it_is_told_says_so() {
    let line = [
        "kafka-producer-perf-test",
        "--bootstrap-server",
        "localhost:1",
        "--topic",
        "t",
        "--num-records",
        "1",
        "--throughput",
        "-1",
        "--record-size",
        "1",
        "--transactional-id",
        "x",
    ];
    let refused = run(&line, "");
    assert_eq!(refused.code, 1);
    assert!(
        refused.err.starts_with("transactions are not served yet"),
        "{refused:?}"
    );
    let unreachable = run(&line[..line.len() - 2], "");
    assert_eq!(unreachable.code, 1);
    assert!(unreachable.err.contains("localhost:1"), "{unreachable:?}");
    for line in [
        &["kafka-consumer-perf-test"][..],
        &["kafka-e2e-latency", "--help"],
    ] {
        assert_eq!(run(line, "").code, 1, "{line:?}");
    }
}

#[test]
fn the_consumer_script_prints_kafkas_columns() {
    let dev = Dev::start();
    dev.run_with(&["produce", "t"], &"0123456789\n".repeat(600)).ok();
    let base = [
        "kafka-consumer-perf-test",
        "--topic",
        "t",
        "--messages",
        "600",
        "--print-metrics",
    ];
    let out = dev.script(&base, "").ok();
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(
        lines[0],
        "Warning: --messages is deprecated. Use --num-records instead."
    );
    assert_eq!(
        lines[1],
        "start.time, end.time, data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec, rebalance.time.ms, \
         fetch.time.ms, fetch.MB.sec, fetch.nMsg.sec"
    );
    let columns: Vec<&str> = lines[2].split(", ").collect();
    assert_eq!(
        (columns.len(), columns[2], columns[4]),
        (10, "0.0057", "600"),
        "{out}"
    );
    assert_eq!(shape(columns[0]), "#-#-# #:#:#:#");
    let metric = "consumer-fetch-manager-metrics:records-consumed-total:{client-id=perf-consumer-client}";
    assert!(
        out.lines()
            .any(|line| line.starts_with(metric) && line.ends_with(": 600.000")),
        "{out}"
    );
    let detailed = [
        "kafka-consumer-perf-test",
        "--include",
        "t.*",
        "--num-records",
        "9000",
        "--timeout",
        "300",
        "--show-detailed-stats",
        "--reporting-interval",
        "1",
        "--date-format",
        "yyyy",
    ];
    let out = dev.script(&detailed, "").ok();
    let lines: Vec<&str> = out.lines().collect();
    assert!(
        lines[0].starts_with("time, threadId, data.consumed.in.MB, "),
        "{out}"
    );
    assert!(
        lines[1].contains(", 0, ") && lines[1].split(", ").count() == 10,
        "{out}"
    );
    assert!(
        out.ends_with("You can use the --timeout option to increase the timeout.\n"),
        "{out}"
    );
}

#[test]
fn the_latency_script_makes_its_topic_and_reads_what_it_wrote() {
    let dev = Dev::start();
    let line = [
        "kafka-e2e-latency",
        "--topic",
        "lat",
        "--num-records",
        "20",
        "--producer-acks",
        "all",
        "--record-size",
        "20",
        "--record-key-size",
        "5",
        "--num-headers",
        "2",
        "--record-header-key-size",
        "3",
        "--record-header-size=-1",
    ];
    let out = dev.script(&line, "").ok();
    let lines: Vec<String> = out.lines().map(shape).collect();
    assert_eq!(
        lines,
        [
            "Topic \"lat\" does not exist. Will create topic with # partition(s) and replication factor = #",
            "#\t#",
            "Avg latency: # ms",
            "Percentiles: #th = #, #th = #, #th = #",
        ]
    );
    let by_place = run(&["kafka-e2e-latency", &dev.server, "lat", "3", "1", "20"], "").ok();
    assert!(
        by_place.starts_with("WARNING: Positional argument usage is deprecated"),
        "{by_place}"
    );
}

#[test]
fn our_own_commands_tell_people_and_programs() {
    let dev = Dev::start();
    let json = |arguments: &[&str]| -> Value {
        serde_json::from_str(&dev.run(&[arguments, &["--output", "json"]].concat()).ok()).unwrap()
    };
    let produced = json(&["perf", "produce", "t", "-n", "500", "--size", "10", "--keys", "3"]);
    assert_eq!(
        (&produced["records"], &produced["bytes"]),
        (&500.into(), &5000.into())
    );
    assert_eq!(produced["failed"], 0);
    assert!(produced["latency_ms"]["p99.9"].as_f64() > Some(0.0), "{produced}");
    let consumed = json(&["perf", "consume", "t"]);
    assert_eq!(consumed["records"], 500);
    let some = json(&["perf", "consume", "t", "-n", "10", "-X", "max.poll.records=10"]);
    assert_eq!(some["records"], 10);
    let late = dev.run(&["perf", "consume", "t", "-n", "900", "--timeout", "0.3"]);
    assert!(late.err.contains("timeout (300 ms) exceeded"), "{late:?}");
    assert!(late.ok().starts_with("read 500 records"));
    let refused = dev.run(&["perf", "produce", "t", "-n", "1", "-X", "transactional.id=x"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(
        refused.err.contains("transactions are not served yet"),
        "{refused:?}"
    );
    let latency = json(&["perf", "latency", "t", "-n", "50", "--rate", "1000"]);
    assert_eq!(
        (&latency["records"], &latency["arrived"]),
        (&50.into(), &50.into())
    );
    let table = dev.run(&["perf", "latency", "t", "-n", "20"]).ok();
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines[0], "20 records at 1000 a second");
    assert!(lines[1].starts_with("MS UNTIL       MEAN"), "{table}");
    assert!(lines[3].starts_with("arrived"), "{table}");
    let sentence = dev
        .run(&["perf", "produce", "t", "-n", "20", "--rate", "1000"])
        .ok();
    assert!(sentence.starts_with("wrote 20 records in "), "{sentence}");
    let refused = dev.run(&["perf", "produce", "t", "--rate", "0"]);
    assert_eq!(refused.code, 2);
    assert!(refused.err.contains("--rate must be above 0"), "{refused:?}");
}
