//! A newcomer's walk, and what commands say when they cannot do what they were asked to.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::gracchus::{Dev, run, terminate};

#[test]
fn what_was_written_is_there_after_a_restart() {
    let dev = Dev::start();
    assert!(
        dev.greeting[0].starts_with("made and formatted "),
        "{:?}",
        dev.greeting
    );
    assert!(
        dev.greeting[4].contains("topic create orders"),
        "{:?}",
        dev.greeting
    );
    assert_eq!(
        dev.run(&["topic", "create", "orders", "-p", "2"]).ok(),
        "created topic orders\n"
    );
    let lines: String = (0..500).map(|n| format!("{}:{n}\n", n % 7)).collect();
    let produced = dev.run_with(&["produce", "orders", "-K", ":"], &lines);
    assert_eq!(produced.err, "wrote 500 records to orders\n");
    let read = dev
        .run(&["consume", "orders", "-g", "readers", "-f", "-n", "200"])
        .ok();
    assert_eq!(read.lines().count(), 200);
    let (code, folder) = dev.stop();
    assert_eq!(code, 0);

    let dev = Dev::start_in(folder);
    assert!(dev.greeting[0].starts_with("opened "), "{:?}", dev.greeting);
    let rest = dev.run(&["consume", "orders", "-g", "readers", "-n", "300"]).ok();
    let mut numbers: Vec<u32> = (read + &rest).lines().map(|line| line.parse().unwrap()).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (0..500).collect::<Vec<u32>>());
    let described = dev
        .run(&["group", "describe", "readers", "--output", "json"])
        .ok();
    let described: Value = serde_json::from_str(&described).unwrap();
    let lags: Vec<&Value> = described[0]["partitions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|p| &p["lag"])
        .collect();
    assert_eq!(lags, [0, 0]);
}

#[test]
fn results_are_tables_for_people_and_json_for_programs() {
    let dev = Dev::start();
    assert!(
        dev.run(&["topic", "list"])
            .ok()
            .starts_with("there are no topics")
    );
    dev.run(&["topic", "create", "a", "-p", "3", "-c", "retention.ms=1000"])
        .ok();
    let expected = "TOPIC   PARTITIONS   REPLICATION\na       3            1\n";
    assert_eq!(dev.run(&["topic", "list"]).ok(), expected);
    let json = dev.run(&["topic", "describe", "a", "--output", "json"]).ok();
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json[0]["settings"]["retention.ms"], "1000");
    assert_eq!(json[0]["partitions"].as_array().unwrap().len(), 3);

    dev.run(&["produce", "a", "-k", "k", "-v", "v", "-H", "h=1", "-p", "1"])
        .ok();
    let record = dev
        .run(&["consume", "a", "-e", "-f", "--format", "%t-%p@%o %k=%v %h\\n"])
        .ok();
    assert_eq!(record, "a-1@0 k=v h=1\n");
    let record = dev.run(&["consume", "a", "-e", "-f", "--output", "json"]).ok();
    let record: Value = serde_json::from_str(&record).unwrap();
    assert_eq!(
        (record["key"].as_str(), record["value"].as_str()),
        (Some("k"), Some("v"))
    );
    assert_eq!(dev.run(&["consume", "a", "--offset", "-1", "-e"]).ok(), "v\n");
    assert_eq!(
        dev.run(&["topic", "alter", "a", "-p", "4"]).ok(),
        "topic a has 4 partitions now\n"
    );
    assert_eq!(dev.run(&["topic", "delete", "a"]).ok(), "deleted a\n");
}

#[test]
fn what_cannot_be_done_is_one_line_a_hint_and_an_exit_code() {
    let dev = Dev::start();
    dev.run(&["topic", "create", "a"]).ok();
    let failures = [
        (&["topic", "create", "a"][..], 1, "--if-not-exists"),
        (&["topic", "describe", "nope"], 1, "gracchus topic list"),
        (&["consume", "nope"], 1, "gracchus topic list"),
        (&["group", "describe", "nope"], 1, "GROUP_ID_NOT_FOUND"),
        (&["group", "delete", "nope"], 1, "Gracchus does not serve it yet"),
        (&["consume", "a", "-p", "9"], 2, "has no partition 9"),
        (&["consume", "a", "--format", "%q"], 2, "stands for nothing"),
        (&["topic", "frobnicate"], 2, "unrecognized subcommand"),
        (
            &["produce", "a", "-v", "v", "--acks", "7"],
            1,
            "`all`, `1` or `0`",
        ),
    ];
    for (arguments, code, words) in failures {
        let done = dev.run(arguments);
        assert_eq!(done.code, code, "{arguments:?}: {done:?}");
        assert!(done.err.contains(words), "{arguments:?}: {done:?}");
        assert!(!done.err.contains("panicked"), "{done:?}");
    }
    assert!(
        dev.run(&["topic", "create", "a", "--if-not-exists"])
            .ok()
            .contains("exists already")
    );
}

#[test]
fn a_broker_that_is_not_there_is_told_soon() {
    let done = run(&["topic", "list", "-b", "127.0.0.1:1"], "");
    assert_eq!(done.code, 1);
    assert!(
        done.err.contains("127.0.0.1:1") && done.err.contains("`gracchus dev` starts a broker"),
        "{done:?}"
    );
}

#[test]
fn a_second_broker_on_the_same_folder_is_refused() {
    let dev = Dev::start();
    let data_dir = dev.folder.path().join("data");
    let done = run(
        &["dev", "--port", "0", "--data-dir", data_dir.to_str().unwrap()],
        "",
    );
    assert_eq!(done.code, 1);
    assert!(done.err.contains("is in use by another broker"), "{done:?}");
    assert_eq!(done.err.lines().count(), 1, "{done:?}");
}

#[test]
fn what_a_client_asks_for_in_vain_is_in_the_log() {
    let mut dev = Dev::start_with(&[
        "--override",
        "offsets.topic.replication.factor=3",
        "--override",
        "auto.leader.rebalance.enable=true",
    ]);
    let words = "set, but without effect in this version: auto.leader.rebalance.enable";
    assert!(dev.log.len() == 1 && dev.log[0].ends_with(words), "{:?}", dev.log);
    let mut socket = TcpStream::connect(&dev.server).unwrap();
    // FindCoordinator version 1: a transactional id, then a group.
    for (correlation, key_type) in [(1, 1), (2, 0)] {
        let frame = [
            0,
            0,
            0,
            16,
            0,
            10,
            0,
            1,
            0,
            0,
            0,
            correlation,
            0,
            2,
            b'm',
            b'e',
            0,
            1,
            b'x',
            key_type,
        ];
        socket.write_all(&frame).unwrap();
    }
    let transactions = dev.logged();
    for words in [
        "WARN transactions are not served",
        "transactional_id=\"x\"",
        "client=\"me\"",
    ] {
        assert!(transactions.contains(words), "{transactions}");
    }
    let offsets = dev.logged();
    for words in [
        "factor of 3",
        "only 1 broker(s)",
        "Set offsets.topic.replication.factor",
    ] {
        assert!(offsets.contains(words), "{offsets}");
    }
}

#[test]
fn a_port_in_use_is_told_by_the_flag_that_chose_it() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let folder = tempfile::tempdir().unwrap();
    let data_dir = folder.path().join("data");
    let line = [
        "dev",
        "--host",
        "127.0.0.1",
        "--port",
        &port,
        "--data-dir",
        data_dir.to_str().unwrap(),
    ];
    let done = run(&line, "");
    assert_eq!((done.code, done.err.lines().count()), (1, 1), "{done:?}");
    let words = format!("port {port} of 127.0.0.1 is in use");
    assert!(
        done.err.contains(&words) && done.err.contains("--port"),
        "{done:?}"
    );
}

#[test]
fn a_file_that_is_not_there_cannot_be_dumped() {
    let done = run(&["log", "dump", "/no/such/file"], "");
    assert_eq!(done.code, 1, "{done:?}");
    assert!(
        done.err.contains("/no/such/file cannot be dumped: No such file"),
        "{done:?}"
    );
}

#[test]
fn a_reader_that_goes_away_ends_a_command_without_a_word() {
    let dev = Dev::start();
    dev.run(&["topic", "create", "a"]).ok();
    let lines: String = (0..20_000)
        .map(|n| format!("{n} {}\n", "x".repeat(100)))
        .collect();
    dev.run_with(&["produce", "a"], &lines).ok();
    let mut child = Command::new(env!("CARGO_BIN_EXE_gracchus"))
        .args(["consume", "a", "-f", "-b", &dev.server])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut first)
        .unwrap();
    assert!(first.starts_with("0 x"));
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
}

#[test]
fn a_signal_ends_a_consumer_in_order() {
    let dev = Dev::start();
    dev.run(&["topic", "create", "a"]).ok();
    dev.run(&["produce", "a", "-v", "v"]).ok();
    let mut child = Command::new(env!("CARGO_BIN_EXE_gracchus"))
        .args(["consume", "a", "-f", "-g", "g", "-b", &dev.server])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    assert_eq!(line, "v\n");
    terminate(&child);
    assert!(child.wait().unwrap().success());
    // It committed and left: nobody has to wait for its session to end.
    let described = dev.run(&["group", "describe", "g", "--output", "json"]).ok();
    let described: Value = serde_json::from_str(&described).unwrap();
    assert_eq!(described[0]["state"], "Empty");
    assert_eq!(described[0]["partitions"][0]["offset"], 1);
}
