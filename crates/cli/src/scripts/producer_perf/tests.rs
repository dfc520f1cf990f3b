//! The flags of the script, its mistakes, and its lines beside those that Kafka 4.3.1 prints.

use super::*;

fn task(line: &str) -> Result<Task, String> {
    let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    let parsed = SCRIPT.parse(&arguments).map_err(|error| error.to_string())?;
    Task::read(&parsed).map_err(|error| error.to_string())
}

#[test]
fn mistakes_have_the_scripts_words() {
    const GOOD: &str = "--bootstrap-server h:1 --topic t --num-records 10 --throughput -1";
    for (line, expected) in [
        (
            "--record-size 1 --num-records 0",
            "--num-records should be greater than zero.",
        ),
        ("--record-size 0", "--record-size should be greater than zero."),
        (
            "",
            "one of the arguments --record-size --payload-file --payload-monotonic is required",
        ),
        (
            "--record-size 1 --payload-monotonic",
            "argument --payload-monotonic: not allowed with argument --record-size",
        ),
        ("--record-size 1 --frob", "unrecognized arguments: '--frob'"),
        (
            "--record-size 1 --warmup-records 10",
            "The value for --warmup-records must be strictly fewer than the number of records in the test, --num-records.",
        ),
        (
            "--record-size 1 --num-records ten",
            "argument --num-records: could not convert 'ten' to Long",
        ),
        (
            "--record-size 1 --reporting-interval 0",
            "--reporting-interval should be greater than zero.",
        ),
        (
            "--record-size 1 --producer-props acks=1 --command-property acks=all",
            "--command-property and --producer-props cannot be specified together.",
        ),
        (
            "--record-size 1 --producer.config a --command-config b",
            "--command-config and --producer.config cannot be specified together.",
        ),
        (
            "--record-size 1 --transaction-duration-ms 0",
            "--transaction-duration-ms should be greater than zero.",
        ),
        (
            "--record-size 1 --num-records",
            "argument --num-records: expected one argument",
        ),
        (
            "--record-size 1 --command-property",
            "argument --command-property: expected at least one argument",
        ),
    ] {
        let error = task(&format!("{GOOD} {line}")).unwrap_err();
        assert_eq!(
            error,
            format!("kafka-producer-perf-test: error: {expected}"),
            "{line}"
        );
    }
    let missing = task("--num-records 10 --record-size 1 --throughput -1").unwrap_err();
    assert_eq!(
        missing,
        "kafka-producer-perf-test: error: argument --topic is required"
    );
    let nowhere = task("--topic t --num-records 10 --record-size 1 --throughput -1").unwrap_err();
    assert!(
        nowhere.contains("At least one of --bootstrap-server, --command-property"),
        "{nowhere}"
    );
    let invalid = task(&format!("{GOOD} --record-size 1 --command-property a=b=c")).unwrap_err();
    assert_eq!(invalid, "Invalid property: a=b=c");
}

#[test]
fn transactions_are_refused() {
    for flags in [
        "--transactional-id x",
        "--transaction-duration-ms 5",
        "--command-property transactional.id=x",
    ] {
        let line = format!(
            "--bootstrap-server h:1 --topic t --num-records 10 --throughput -1 --record-size 1 {flags}"
        );
        let error = task(&line).unwrap_err();
        assert!(
            error.starts_with("transactions are not served yet"),
            "{flags}: {error}"
        );
    }
}

#[test]
fn several_properties_follow_one_flag_and_the_last_flag_wins() {
    let task = task(
        "--topic t --num-records 10 --throughput 7.5 --payload-monotonic --warmup-records 3 --producer-props linger.ms=99 \
         --producer-props acks=1 bootstrap.servers=h:1 client.id=me",
    )
    .unwrap();
    assert_eq!(task.client.bootstrap_servers, ["h:1"]);
    assert_eq!(task.client.client_id, "me");
    assert_eq!(
        (task.producer.acks, task.producer.linger.as_millis()),
        (client::Acks::Leader, 5)
    );
    assert_eq!(
        (task.load.rate, task.warmup, task.load.records),
        (Some(7.5), 3, 10)
    );
}

#[test]
fn a_file_of_payloads_is_split_by_a_pattern() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("payloads");
    std::fs::write(&file, "a\nbb\n\nccc\n").unwrap();
    let read = |delimiter| match read_payloads(file.to_str().unwrap(), delimiter).unwrap() {
        Payload::OneOf { values, .. } => values
            .into_iter()
            .map(|v| String::from_utf8(v).unwrap())
            .collect::<Vec<_>>(),
        other => panic!("{other:?}"),
    };
    assert_eq!(read("\\n"), ["a", "bb", "", "ccc"]);
    assert_eq!(read("b+"), ["a\n", "\n\nccc\n"]);
    let missing = read_payloads("/does/not/exist", "\\n").unwrap_err();
    assert_eq!(missing.to_string(), "File does not exist or empty file provided.");
}

/// A line with its figures taken out.
fn shape(line: &str) -> String {
    let mut shape = String::new();
    for letter in line.chars() {
        match letter {
            '0'..='9' if shape.ends_with('#') => {}
            '0'..='9' => shape.push('#'),
            other => shape.push(other),
        }
    }
    shape
}

#[test]
fn lines_have_the_shape_of_kafkas() {
    let mut all = Window::new(Duration::ZERO, "");
    let recent = all.record(Duration::from_micros(51_700), 100).unwrap();
    let printed =
        "3983 records sent, 992.5 records/sec (0.09 MB/sec), 51.7 ms avg latency, 159.0 ms max latency.";
    assert_eq!(shape(&recent.line()), shape(printed));
    let printed = "20000 records sent, 998.901209 records/sec (0.10 MB/sec), 55.45 ms avg latency, 1827.00 ms max latency, \
                   9 ms 50th, 386 ms 95th, 435 ms 99th, 468 ms 99.9th.";
    assert_eq!(shape(&all.total()), shape(printed));
    assert!(
        all.total()
            .contains(" 51.00 ms avg latency, 51.00 ms max latency, 51 ms 50th"),
        "{}",
        all.total()
    );
    let mut steady = Window::new(Duration::MAX, " steady state");
    assert!(steady.record(Duration::ZERO, 1).is_none());
    assert!(steady.total().starts_with("1 steady state records sent, "));
}
