//! Scripts. A line that is not indented is a command; the indented lines after it are everything that comes out of it.
//!
//! ```text
//! a: join                                  a member without an id asks to join, its answer goes to `a`
//!     a: MemberIdRequired a1
//!     log: g 0 []
//! a: join a1
//! at 3000                                  time passes, step by step
//!     a: joined 1 range leader=a1 [a1]
//! ```
//!
//! A line `given ..` is one of [`OPENINGS`]: commands and what comes out of them, as if they stood there.
//!
//! A write is committed at once, unless the script says `hold` (until `release`, or as far as `high-watermark N`), or
//! `fail ERROR` (the next one).

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use bytes::Bytes;
use coordinator::{
    Answer, CommitOffsets, FetchOffsets, FetchedTopic, GroupConfig, GroupFilter, GroupShard, Heartbeat,
    JoinGroup, Joined, LeaveGroup, LeavingMember, Marker, Newcomers, Now, OffsetCommit, OffsetToCommit,
    Protocol, Record, Rejoins, Stability, Step, SyncGroup, TopicToFetch, WriteError,
};
use model::Uuid;

/// How many scripts open: a group is formed, with its delay or, where a test's limits have none, without.
const OPENINGS: &[(&str, &str)] = &[
    (
        "given a and b, after the delay",
        "\
a: join v3
    log: g 0 []
b: join v3
at 6000
    a: joined 1 range leader=a1 [a1 b1]
    b: joined 1 range leader=a1 []
",
    ),
    (
        "given a, after the delay",
        "\
a: join v3
    log: g 0 []
at 3000
    a: joined 1 range leader=a1 [a1]
",
    ),
    (
        "given a with its assignment",
        "\
a: join v3
    a: joined 1 range leader=a1 [a1]
    log: g 0 []
a: sync a1 1 a1=x
    log: g 1 [a1=x]
    a: synced \"x\" consumer range
",
    ),
    (
        "given static a with its assignment",
        "\
a: join i=one
    a: joined 1 range leader=a1 [a1/one]
    log: g 0 []
a: sync a1 1 i=one a1=x
    log: g 1 [a1/one=x]
    a: synced \"x\" consumer range
",
    ),
    (
        "given a",
        "\
a: join v3
    a: joined 1 range leader=a1 [a1]
    log: g 0 []
",
    ),
    (
        "given static a",
        "\
a: join i=one
    a: joined 1 range leader=a1 [a1/one]
    log: g 0 []
",
    ),
];

/// The lines of a script, its opening spelled out.
fn lines(script: &str) -> Vec<&str> {
    let spelled_out = script
        .lines()
        .flat_map(|line| match OPENINGS.iter().find(|(name, _)| *name == line) {
            Some((_, opening)) => opening.lines().collect(),
            None => vec![line],
        });
    spelled_out.filter(|line| !line.trim().is_empty()).collect()
}

/// Runs a script against a new shard with the default limits.
pub(crate) fn check(script: &str) {
    check_with(GroupConfig::default(), script);
}

/// Runs a script against a new shard.
pub(crate) fn check_with(config: GroupConfig, script: &str) {
    let mut stage = Stage::new(config);
    let mut actual = String::new();
    let expected = lines(script);
    for line in expected.iter().filter(|line| !line.starts_with(' ')) {
        let _ = writeln!(actual, "{line}");
        stage.run(line);
        for output in stage.output.drain(..) {
            let _ = writeln!(actual, "    {output}");
        }
    }
    let actual_lines: Vec<&str> = actual.lines().collect();
    assert!(expected == actual_lines, "the script went like this:\n{actual}");
}

/// What a test of one record needs of the log.
pub(crate) type Log = Vec<Logged>;

/// An entry of the log.
#[derive(Clone)]
pub(crate) enum Logged {
    Record { producer: Option<i64>, record: Record },
    Marker { producer: i64, marker: Marker },
}

/// A shard, its log, and its clock.
pub(crate) struct Stage {
    pub(crate) shard: GroupShard<String>,
    pub(crate) log: Log,
    pub(crate) now: Now,
    pub(crate) output: Vec<String>,
    config: GroupConfig,
    ids: BTreeMap<String, usize>,
    held: bool,
    failure: Option<WriteError>,
    pub(crate) events: Vec<String>,
}

impl Stage {
    pub(crate) fn new(config: GroupConfig) -> Stage {
        let shard = GroupShard::new(config.clone());
        Stage::with_shard(config, shard)
    }

    /// A shard that is loaded already.
    pub(crate) fn with_shard(config: GroupConfig, mut shard: GroupShard<String>) -> Stage {
        let step = shard.activate(Now::default());
        assert!(step.writes.is_empty());
        Stage {
            shard,
            log: Vec::new(),
            now: Now::default(),
            output: Vec::new(),
            config,
            ids: BTreeMap::new(),
            held: false,
            failure: None,
            events: Vec::new(),
        }
    }

    /// The same log under other limits.
    pub(crate) fn with_config(self, config: GroupConfig) -> Stage {
        Stage { config, ..self }
    }

    /// A member joins with protocols whose metadata no script can spell.
    pub(crate) fn join_offering(&mut self, protocols: Vec<Protocol>) {
        let request = JoinGroup {
            protocols,
            ..join_request("a", 1)
        };
        let step = self.shard.join(self.now, request, "a".into());
        self.take(step);
    }

    /// A shard that takes over with what is in the log.
    pub(crate) fn restart(&mut self) {
        self.shard = GroupShard::new(self.config.clone());
        for (offset, logged) in self.log.iter().enumerate() {
            match logged.clone() {
                Logged::Record { producer, record } => {
                    let (key, value) = record.encode().unwrap();
                    // What this crate cannot write, it did not write: it stands in the log as a test put it there.
                    let read = match record {
                        Record::Foreign { .. } => record,
                        _ => Record::decode(Some(&key), value.as_ref()).unwrap(),
                    };
                    self.shard.load(offset as i64, producer, read);
                }
                Logged::Marker { producer, marker } => self.shard.end_transaction(producer, marker),
            }
        }
        let step = self.shard.activate(self.now);
        self.take(step);
    }

    pub(crate) fn take(&mut self, step: Step<String>) {
        self.events.extend(step.events.iter().map(ToString::to_string));
        for (label, answer) in step.answers {
            self.output.push(format!("{label}: {}", show_answer(&answer)));
        }
        for write in step.writes {
            if let Some(error) = self.failure.take() {
                let step = self.shard.append_failed(self.now, write, error);
                self.take(step);
                continue;
            }
            let first = self.log.len() as i64;
            for record in &write.records {
                self.output.push(format!("log: {}", show_record(record)));
                self.log.push(Logged::Record {
                    producer: None,
                    record: record.clone(),
                });
            }
            self.shard.appended(self.now, write, first);
            if !self.held {
                self.commit_all();
            }
        }
    }

    fn commit_all(&mut self) {
        let step = self.shard.committed(self.now, self.log.len() as i64);
        self.take(step);
    }

    /// Lets time pass until `at`, doing what is due when it is due.
    pub(crate) fn advance(&mut self, at: i64) {
        while let Some(deadline) = self.shard.next_deadline().filter(|deadline| *deadline <= at) {
            let at = deadline.max(self.now.steady_ms);
            self.now = Now {
                wall_ms: at,
                steady_ms: at,
            };
            let step = self.shard.tick(self.now);
            self.take(step);
        }
        self.now = Now {
            wall_ms: at,
            steady_ms: at,
        };
    }

    pub(crate) fn run(&mut self, line: &str) {
        let (label, command) = match line.split_once(": ") {
            Some((label, command)) => (label.to_owned(), command),
            None => (String::new(), line),
        };
        let words: Vec<&str> = command.split_whitespace().collect();
        let args = Args::parse(&words[1..]);
        match words[0] {
            "join" => self.join(label, &args),
            "sync" => self.sync(label, &args),
            "heartbeat" => {
                let request = Heartbeat {
                    group: args.group(),
                    generation: args.number(1),
                    member: args.text(0),
                    instance: args.get("i"),
                };
                let result = self.shard.heartbeat(self.now, &request);
                self.output
                    .push(result.map_or_else(|error| format!("{error:?}"), |()| "ok".into()));
            }
            "leave" => self.leave(label, &args),
            "commit" => self.commit(label, &args),
            "fetch" => self.fetch(label, &args),
            "list" => self.list(&args),
            "describe" => {
                let described = self.shard.describe(&args.text(0));
                self.output.push(show_described(described));
            }
            "at" => self.advance(args.number(0).into()),
            "hold" => self.held = true,
            "release" => {
                self.held = false;
                self.commit_all();
            }
            "high-watermark" => {
                let step = self.shard.committed(self.now, args.number(0).into());
                self.take(step);
            }
            "fail" => self.failure = Some(write_error(args.words[0])),
            "restart" => self.restart(),
            "resign" => {
                for (label, answer) in self.shard.resign() {
                    self.output.push(format!("{label}: {}", show_answer(&answer)));
                }
            }
            "topic-deleted" => {
                let step = self.shard.topic_deleted(&args.text(0), args.topic_id());
                self.take(step);
            }
            "transact" => self.transact(&args),
            "end" => self.end(&args),
            other => panic!("unknown command {other}"),
        }
    }

    fn join(&mut self, label: String, args: &Args<'_>) {
        let count = self.ids.entry(label.clone()).or_default();
        *count += 1;
        let offers = args.options.get("offers").copied().unwrap_or("range");
        let protocols = offers.split(',').map(|offer| {
            let (name, metadata) = offer.split_once(':').unwrap_or((offer, ""));
            Protocol {
                name: name.into(),
                metadata: Bytes::copy_from_slice(metadata.as_bytes()),
            }
        });
        let request = JoinGroup {
            group: args.group(),
            member: args.text(0),
            new_member: format!("{label}{count}").into(),
            instance: args.get("i"),
            client_id: args.get("client").unwrap_or_else(|| "client".into()),
            client_host: "/127.0.0.1".into(),
            session_timeout_ms: args.option("session", 10_000),
            rebalance_timeout_ms: args.option("rebalance", 60_000),
            protocol_type: args.get("type").unwrap_or_else(|| "consumer".into()),
            protocols: if offers.is_empty() {
                Vec::new()
            } else {
                protocols.collect()
            },
            newcomers: if args.has("v3") {
                Newcomers::Admitted
            } else {
                Newcomers::MustComeBack
            },
            rejoins: if args.has("v8") {
                Rejoins::MustNotLead
            } else {
                Rejoins::MaySkipAssignment
            },
        };
        let step = self.shard.join(self.now, request, label);
        self.take(step);
    }

    fn sync(&mut self, label: String, args: &Args<'_>) {
        let known = ["i", "g", "type", "protocol"];
        let assignments = args.options.iter().filter(|(name, _)| !known.contains(*name));
        let request = SyncGroup {
            group: args.group(),
            member: args.text(0),
            generation: args.number(1),
            instance: args.get("i"),
            protocol_type: args.get("type"),
            protocol: args.get("protocol"),
            assignments: assignments
                .map(|(name, value)| (Arc::from(*name), Bytes::copy_from_slice(value.as_bytes())))
                .collect(),
        };
        let step = self.shard.sync(self.now, request, label);
        self.take(step);
    }

    fn leave(&mut self, label: String, args: &Args<'_>) {
        let members = args.words.iter().map(|word| {
            let (member, instance) = word
                .split_once('/')
                .map_or((*word, None), |(id, i)| (id, Some(i.into())));
            LeavingMember {
                member: member.trim_start_matches('-').into(),
                instance,
            }
        });
        let request = LeaveGroup {
            group: args.group(),
            members: members.collect(),
        };
        let step = self.shard.leave(self.now, request, label);
        self.take(step);
    }

    fn commit(&mut self, label: String, args: &Args<'_>) {
        let (member, generation) = match args.words.as_slice() {
            [] => (Arc::default(), -1),
            [generation] => (Arc::default(), generation.parse().unwrap()),
            _ => (args.text(0), args.number(1)),
        };
        let offsets = args.places().map(|(topic, partition, value)| {
            let mut parts = value.splitn(3, ':');
            OffsetToCommit {
                topic,
                topic_id: args.topic_id(),
                partition,
                offset: parts.next().unwrap().parse().unwrap(),
                metadata: parts.next().unwrap_or("").into(),
                leader_epoch: parts.next().map(|epoch| epoch.parse().unwrap()),
            }
        });
        let request = CommitOffsets {
            group: args.group(),
            generation,
            member,
            instance: args.get("i"),
            retention_ms: args.options.get("retention").map(|ms| ms.parse().unwrap()),
            offsets: offsets.collect(),
        };
        let step = self.shard.commit(self.now, request, label);
        self.take(step);
    }

    fn fetch(&mut self, label: String, args: &Args<'_>) {
        let mut topics: Vec<TopicToFetch> = Vec::new();
        for word in args.words.iter().filter(|word| word.contains('-')) {
            let (topic, partition) = word.rsplit_once('-').unwrap();
            topics.push(TopicToFetch {
                topic: topic.into(),
                topic_id: args.topic_id(),
                partitions: vec![partition.parse().unwrap()],
            });
        }
        let request = FetchOffsets {
            group: args.group(),
            member: args.get("m"),
            topics: (!topics.is_empty()).then_some(topics),
            stability: if args.has("stable") {
                Stability::Required
            } else {
                Stability::Any
            },
        };
        let step = self.shard.fetch(request, label);
        self.take(step);
    }

    fn list(&mut self, args: &Args<'_>) {
        let split = |name: &str| {
            let value = args.options.get(name).copied().unwrap_or("");
            value
                .split(',')
                .filter(|part| !part.is_empty())
                .map(str::to_owned)
                .collect()
        };
        for group in self.shard.list(&GroupFilter {
            states: split("states"),
            types: split("types"),
        }) {
            self.output.push(format!(
                "{} {:?} {} {}",
                group.group, &*group.protocol_type, group.state, group.group_type
            ));
        }
    }

    fn transact(&mut self, args: &Args<'_>) {
        let producer = i64::from(args.number(0));
        for (topic, partition, value) in args.places() {
            let commit = OffsetCommit {
                offset: value.parse().unwrap(),
                leader_epoch: None,
                metadata: "".into(),
                commit_timestamp_ms: self.now.wall_ms,
                expire_timestamp_ms: None,
                topic_id: Uuid::ZERO,
            };
            let record = Record::Offset {
                group: args.group(),
                topic,
                partition,
                commit: Some(commit),
            };
            self.shard
                .load(self.log.len() as i64, Some(producer), record.clone());
            self.log.push(Logged::Record {
                producer: Some(producer),
                record,
            });
        }
    }

    fn end(&mut self, args: &Args<'_>) {
        let producer = i64::from(args.number(0));
        let marker = if args.has("commit") {
            Marker::Commit
        } else {
            Marker::Abort
        };
        self.shard.end_transaction(producer, marker);
        self.log.push(Logged::Marker { producer, marker });
    }
}

/// The words of a command: positional ones, and `name=value`.
struct Args<'a> {
    words: Vec<&'a str>,
    options: BTreeMap<&'a str, &'a str>,
}

impl<'a> Args<'a> {
    fn parse(words: &[&'a str]) -> Args<'a> {
        let (options, words): (Vec<_>, Vec<_>) = words.iter().partition(|word| word.contains('='));
        Args {
            words,
            options: options
                .into_iter()
                .map(|option| option.split_once('=').unwrap())
                .collect(),
        }
    }

    fn has(&self, word: &str) -> bool {
        self.words.contains(&word)
    }

    fn text(&self, index: usize) -> Arc<str> {
        // `v3` and `v8` are flags, `-` is the empty text.
        let word = self
            .words
            .iter()
            .filter(|word| !["v3", "v8", "-"].contains(*word))
            .nth(index);
        word.copied().unwrap_or("").into()
    }

    fn number(&self, index: usize) -> i32 {
        self.words[index].parse().unwrap()
    }

    fn get(&self, name: &str) -> Option<Arc<str>> {
        self.options.get(name).map(|value| Arc::from(*value))
    }

    fn option(&self, name: &str, default: i32) -> i32 {
        self.options
            .get(name)
            .map_or(default, |value| value.parse().unwrap())
    }

    fn group(&self) -> Arc<str> {
        self.get("g").unwrap_or_else(|| "g".into())
    }

    fn topic_id(&self) -> Uuid {
        self.options
            .get("id")
            .map_or(Uuid::ZERO, |id| Uuid([id.parse().unwrap(); 16]))
    }

    /// `topic-0=value`.
    fn places(&self) -> impl Iterator<Item = (Arc<str>, i32, &'a str)> {
        self.options.iter().filter_map(|(name, value)| {
            let (topic, partition) = name.rsplit_once('-')?;
            Some((Arc::from(topic), partition.parse().ok()?, *value))
        })
    }
}

/// A member without an id, of a client that is admitted at once.
fn join_request(label: &str, count: usize) -> JoinGroup {
    JoinGroup {
        group: "g".into(),
        member: Arc::default(),
        new_member: format!("{label}{count}").into(),
        instance: None,
        client_id: "client".into(),
        client_host: "/127.0.0.1".into(),
        session_timeout_ms: 10_000,
        rebalance_timeout_ms: 60_000,
        protocol_type: "consumer".into(),
        protocols: Vec::new(),
        newcomers: Newcomers::Admitted,
        rejoins: Rejoins::MaySkipAssignment,
    }
}

fn write_error(name: &str) -> WriteError {
    let all = [
        WriteError::NotLeader,
        WriteError::NotEnoughReplicas,
        WriteError::TimedOut,
        WriteError::TooLarge,
        WriteError::Storage,
    ];
    *all.iter().find(|error| format!("{error:?}") == name).unwrap()
}

/// `-` stands for the empty text.
fn name(text: &str) -> &str {
    if text.is_empty() { "-" } else { text }
}

fn utf8(bytes: &Bytes) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn show_answer(answer: &Answer) -> String {
    match answer {
        Answer::Join(Ok(joined)) => show_joined(joined),
        Answer::Join(Err(refused)) => format!("{} {}", show_error(&refused.error), refused.member)
            .trim_end()
            .into(),
        Answer::Sync(Ok(synced)) => format!(
            "synced {:?} {} {}",
            utf8(&synced.assignment),
            synced.protocol_type.as_deref().unwrap_or("-"),
            synced.protocol.as_deref().unwrap_or("-")
        ),
        Answer::Leave(Ok(left)) => {
            let members = left.iter().map(|member| {
                let who = format!("{}{}", name(&member.member), show_instance(&member.instance));
                member
                    .result
                    .map_or_else(|error| format!("{who} {error:?}"), |()| format!("{who} left"))
            });
            members.collect::<Vec<_>>().join(", ")
        }
        Answer::Commit(Ok(results)) => {
            let results = results
                .iter()
                .map(|result| if result.is_ok() { "ok" } else { "MetadataTooLarge" });
            results.collect::<Vec<_>>().join(" ")
        }
        Answer::Fetch(Ok(topics)) if topics.is_empty() => "nothing".into(),
        Answer::Fetch(Ok(topics)) => topics.iter().map(show_fetched).collect::<Vec<_>>().join(" "),
        Answer::Sync(Err(error))
        | Answer::Leave(Err(error))
        | Answer::Commit(Err(error))
        | Answer::Fetch(Err(error)) => show_error(error),
    }
}

fn show_joined(joined: &Joined) -> String {
    let members = joined.members.iter().map(|member| {
        let equals = if member.metadata.is_empty() { "" } else { "=" };
        let instance = show_instance(&member.instance);
        format!("{}{instance}{equals}{}", member.member, utf8(&member.metadata))
    });
    format!(
        "joined {} {} leader={} [{}]{}{}",
        joined.generation,
        joined.protocol.as_deref().unwrap_or("-"),
        joined.leader,
        members.collect::<Vec<_>>().join(" "),
        if joined.skip_assignment { " skip" } else { "" },
        if joined.protocol_type.as_deref() == Some("consumer") {
            ""
        } else {
            " other type"
        },
    )
}

fn show_fetched(topic: &FetchedTopic) -> String {
    let offsets = topic.partitions.iter().map(|offset| {
        let shown = match &offset.result {
            Ok(Some(given)) => {
                let epoch = given
                    .leader_epoch
                    .map(|epoch| format!("@{epoch}"))
                    .unwrap_or_default();
                let colon = if given.metadata.is_empty() { "" } else { ":" };
                format!("{}{epoch}{colon}{}", given.offset, given.metadata)
            }
            Ok(None) => "none".into(),
            Err(error) => format!("{error:?}"),
        };
        format!("{}-{}={shown}", topic.topic, offset.partition)
    });
    offsets.collect::<Vec<_>>().join(" ")
}

fn show_instance(instance: &Option<Arc<str>>) -> String {
    instance
        .as_ref()
        .map(|instance| format!("/{instance}"))
        .unwrap_or_default()
}

fn show_error(error: &coordinator::GroupError) -> String {
    match error {
        coordinator::GroupError::Write(error) => format!("{error:?}"),
        other => format!("{other:?}"),
    }
}

fn show_record(record: &Record) -> String {
    match record {
        Record::Group {
            group,
            metadata: None,
        } => format!("{group} gone"),
        Record::Group {
            group,
            metadata: Some(metadata),
        } => {
            let members = metadata.members.iter().map(|member| {
                let instance = show_instance(&member.instance);
                format!("{}{instance}={}", member.member, utf8(&member.assignment))
            });
            format!(
                "{group} {} [{}]",
                metadata.generation,
                members.collect::<Vec<_>>().join(" ")
            )
        }
        Record::Offset {
            group,
            topic,
            partition,
            commit,
        } => match commit {
            Some(commit) => format!("{group} {topic}-{partition}={}", commit.offset),
            None => format!("{group} {topic}-{partition} gone"),
        },
        Record::Foreign {
            group,
            group_type,
            key,
            ..
        } => {
            format!("{group} {group_type} {} gone", key[1])
        }
    }
}

fn show_described(described: Option<coordinator::DescribedGroup>) -> String {
    let Some(group) = described else {
        return "none".into();
    };
    let members = group.members.iter().map(|member| {
        let instance = show_instance(&member.instance);
        format!(
            "{}{instance} {} {} {}={}",
            member.member,
            member.client_id,
            member.client_host,
            utf8(&member.metadata),
            utf8(&member.assignment)
        )
    });
    let members = members.collect::<Vec<_>>().join(", ");
    format!(
        "{} {:?} {:?} [{members}]",
        group.state, &*group.protocol_type, &*group.protocol
    )
}
