//! Kafka's scripts on our own broker: their flags, their lines, their exit codes.

use crate::gracchus::{Dev, run};

#[test]
fn topics_are_created_described_and_refused_in_the_scripts_words() {
    let dev = Dev::start();
    let create = ["kafka-topics.sh", "--create", "--topic", "t", "--partitions", "2"];
    assert_eq!(dev.script(&create, "").ok(), "Created topic t.\n");
    let again = dev.script(&create, "");
    assert_eq!(again.code, 1);
    assert_eq!(
        again.out,
        "Error while executing topic command : Topic 't' already exists.\n"
    );
    assert!(again.err.contains("TopicExistsException"), "{again:?}");
    let described = dev
        .script(&["kafka-topics", "--describe", "--topic", "t"], "")
        .ok();
    let lines: Vec<&str> = described.lines().collect();
    assert!(lines[0].starts_with("Topic: t\tTopicId: "), "{described}");
    assert!(
        lines[0].contains("\tPartitionCount: 2\tReplicationFactor: 1\tConfigs: "),
        "{described}"
    );
    let partition = "\tTopic: t\tPartition: 1\tLeader: 1\tReplicas: 1\tIsr: 1\tElr: \tLastKnownElr: ";
    assert_eq!(lines[2], partition);
    let missing = dev.script(&["kafka-topics", "--delete", "--topic", "nope"], "");
    assert_eq!(
        (missing.code, missing.out.contains("does not exist as expected")),
        (1, true)
    );
}

#[test]
fn the_console_clients_write_and_read_keys_and_headers() {
    let dev = Dev::start();
    let reader = ["kafka-console-producer", "--topic", "t", "--timeout", "1"];
    let parse = ["--property", "parse.key=true", "--property", "parse.headers=true"];
    let produced = dev.script(&[&reader[..], &parse].concat(), "a:1,b:2\tk\tv\nc:3\tk2\tv2\n");
    assert_eq!(produced.code, 0, "{produced:?}");
    assert!(produced.out.contains("--property is deprecated"), "{produced:?}");
    let print = [
        "--formatter-property",
        "print.key=true",
        "--formatter-property",
        "print.headers=true",
    ];
    let read = [
        "kafka-console-consumer",
        "--topic",
        "t",
        "--from-beginning",
        "--max-messages",
        "2",
        "--group",
        "g",
    ];
    let consumed = dev.script(&[&read[..], &print].concat(), "");
    assert_eq!(consumed.out, "a:1,b:2\tk\tv\nc:3\tk2\tv2\n");
    assert!(
        consumed.err.ends_with("Processed a total of 2 messages\n"),
        "{consumed:?}"
    );
    let state = dev
        .script(&["kafka-consumer-groups", "--describe", "--group", "g"], "")
        .ok();
    let header =
        "GROUP           TOPIC           PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG             ";
    let row = "g               t               0          2               2               0               ";
    let lines: Vec<&str> = state.lines().collect();
    assert!(
        lines[1].starts_with(header) && lines[2].starts_with(row),
        "{state}"
    );
    let idle = dev.script(
        &[
            "kafka-console-consumer",
            "--topic",
            "t",
            "--group",
            "g",
            "--timeout-ms",
            "300",
        ],
        "",
    );
    assert_eq!(idle.code, 0);
    assert!(
        idle.err
            .contains("TimeoutException\nProcessed a total of 0 messages"),
        "{idle:?}"
    );
}

#[test]
fn a_group_is_moved_and_unknown_ones_are_told_with_exit_code_0() {
    let dev = Dev::start();
    dev.run_with(&["produce", "t"], "1\n2\n3\n").ok();
    let to = [
        "kafka-consumer-groups",
        "--reset-offsets",
        "--group",
        "g",
        "--topic",
        "t",
    ];
    let moved = dev
        .script(&[&to[..], &["--to-offset", "2", "--execute"]].concat(), "")
        .ok();
    assert_eq!(
        moved.lines().last(),
        Some("g               t               0          2")
    );
    let exported = dev
        .script(
            &[&to[..], &["--to-current", "--dry-run", "--export"]].concat(),
            "",
        )
        .ok();
    assert_eq!(exported, "t,0,2\n\n");
    let beyond = dev.script(&[&to[..], &["--shift-by", "99", "--dry-run"]].concat(), "");
    assert!(
        beyond
            .err
            .contains("New offset (101) is higher than latest offset"),
        "{beyond:?}"
    );
    let unknown = dev
        .script(&["kafka-consumer-groups", "--describe", "--group", "nope"], "")
        .ok();
    assert!(
        unknown.contains("GroupIdNotFoundException: Group nope not found."),
        "{unknown}"
    );
}

#[test]
fn storage_and_dump_work_on_the_same_folder() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let properties = folder.path().join("server.properties");
    let text = format!(
        "process.roles=broker,controller\nnode.id=4\nlisteners=PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:0\n\
         controller.listener.names=CONTROLLER\nlog.dirs={}\n",
        data.display()
    );
    std::fs::write(&properties, text).unwrap();
    let file = properties.to_str().unwrap();
    let id = run(&["kafka-storage", "random-uuid"], "").ok();
    let format = [
        "kafka-storage.sh",
        "format",
        "--standalone",
        "-t",
        id.trim(),
        "-c",
        file,
    ];
    let formatted = run(&format, "").ok();
    assert!(
        formatted.starts_with("Formatting dynamic metadata voter directory "),
        "{formatted}"
    );
    let again = run(&format, "");
    assert_eq!(again.code, 1);
    assert!(again.err.contains("is already formatted"), "{again:?}");
    let info = run(&["kafka-storage", "info", "-c", file], "").ok();
    assert!(
        info.contains(&format!("{{cluster.id={}, directory.id=", id.trim())),
        "{info}"
    );
    let bootstrap = data.join("bootstrap.checkpoint");
    let files = [
        "kafka-dump-log",
        "--cluster-metadata-decoder",
        "--files",
        bootstrap.to_str().unwrap(),
    ];
    let dumped = run(&files, "").ok();
    assert!(dumped.contains("KRaft bootstrap snapshot\n"), "{dumped}");
    assert!(dumped.contains("\"name\":\"metadata.version\""), "{dumped}");
}

#[test]
fn mistakes_show_the_flags_and_end_with_1() {
    for line in [
        &["kafka-topics", "--frob"][..],
        &["kafka-topics", "--help"],
        &["kafka-console-consumer", "--topic", "t"],
        &["kafka-dump-log"],
        &["kafka-storage", "format"],
        &["kafka-server-start"],
    ] {
        let done = run(line, "");
        assert_eq!(done.code, 1, "{line:?}: {done:?}");
        assert!(!done.err.is_empty() && done.out.is_empty(), "{line:?}: {done:?}");
    }
    let not_served = run(&["kafka-acls.sh", "--list"], "");
    assert_eq!((not_served.code, not_served.err.lines().count()), (1, 1));
    let words = "kafka-acls is not served yet; of Kafka's scripts this version serves kafka-topics, ";
    assert!(not_served.err.contains(words), "{not_served:?}");
    let version = run(&["kafka-topics", "--version"], "").ok();
    assert!(version.starts_with("4.3.1"), "{version}");
}
