//! `kafka-consumer-groups`: its flags and its tables. What it moves and deletes goes through the commands' functions.

use std::collections::BTreeMap;

use client::{Client, ClientError, GroupDescription, ListedGroup, MemberAssignment};
use model::{ErrorCode, TopicPartition};

use super::columns::{Align, Column, table};
use super::java;
use super::options::{Flag, Misuse, Parsed, Script, flag, option, optional};
use super::topics::connect;
use crate::args::with_runtime;
use crate::commands::group::{PartitionState, existing, partition_states};
use crate::commands::reset::{self, Target};
use crate::output;

pub(super) const SCRIPT: Script = Script {
    about: "This script lists and describes consumer groups, deletes them and their offsets, and moves them.",
    flags: &FLAGS,
    program: None,
};

const FLAGS: [Flag; 30] = [
    flag("all-groups", "All groups."),
    flag(
        "all-topics",
        "With --reset-offsets: all topics the group has offsets of.",
    ),
    option(
        "bootstrap-server",
        "String: server to connect to",
        "REQUIRED: brokers to ask first, host:port,..",
    ),
    option("by-duration", "String: PnDTnHnMnS", "Move to so long ago."),
    option(
        "command-config",
        "String: file",
        "A file with settings of the client.",
    ),
    flag("delete", "Delete groups."),
    flag("delete-offsets", "Delete a group's offsets of topics."),
    flag("describe", "Show how far groups are, or their members or state."),
    flag("dry-run", "With --reset-offsets: only show what would be set."),
    flag("execute", "With --reset-offsets: set it."),
    flag(
        "export",
        "With --reset-offsets: print lines of topic,partition,offset.",
    ),
    option(
        "from-file",
        "String: path to CSV file",
        "Move to the offsets in a file that --export printed.",
    ),
    option(
        "group",
        "String: consumer group",
        "The group. Several times for several.",
    ),
    flag("list", "List groups."),
    flag("members", "With --describe: the members."),
    flag("offsets", "With --describe: the offsets; also without this."),
    flag("reset-offsets", "Move a group that has no members."),
    option(
        "shift-by",
        "Long: number-of-offsets",
        "Move so many records on, or back.",
    ),
    optional(
        "state",
        "String",
        "With --describe: the state. With --list: the states too, or only groups in them.",
    ),
    option(
        "timeout",
        "Long: timeout (ms)",
        "How long a request may take (default: 30000).",
    ),
    flag("to-current", "Move to where the group is."),
    option(
        "to-datetime",
        "String: YYYY-MM-DDThh:mm:ss.sss",
        "Move to a time.",
    ),
    flag("to-earliest", "Move to the first records."),
    flag("to-latest", "Move to the end."),
    option("to-offset", "Long: offset", "Move to an offset."),
    option(
        "topic",
        "String: topic",
        "The topic, or some of its partitions as topic:0,1. Several times for several.",
    ),
    optional(
        "type",
        "String",
        "With --list: the types too, or only groups of them.",
    ),
    option(
        "validate-regex",
        "String: regex",
        "Not supported here: regular expressions belong to the next protocol.",
    ),
    flag("verbose", "With --describe: more columns."),
    option(
        "zookeeper",
        "String",
        "Not supported; Kafka has no ZooKeeper any more.",
    ),
];

const ACTIONS: [&str; 5] = ["list", "describe", "delete", "reset-offsets", "delete-offsets"];

pub(super) fn run(parsed: &Parsed) -> anyhow::Result<()> {
    let action = parsed.exactly_one(&ACTIONS).map_err(|_| {
        Misuse::with_usage(
            "Command must include exactly one action: --list, --describe, --delete, --reset-offsets, --delete-offsets, \
             --validate-regex",
        )
    })?;
    check(parsed, action)?;
    let outcome = with_runtime(async {
        let client = connect(parsed)?;
        match action {
            "list" => list(&client, parsed).await,
            "describe" => describe(&client, parsed).await,
            "delete" => delete(&client, parsed).await,
            "reset-offsets" => reset_offsets(&client, parsed).await,
            _ => delete_offsets(&client, parsed).await,
        }
    });
    // The script says what went wrong, and still ends with 0.
    outcome.or_else(|error| match error.downcast::<ClientError>() {
        Ok(error) => {
            let reason = match &error {
                ClientError::Broker { error, .. } if action == "reset-offsets" => java::message(error),
                error => java::exception_of(error),
            };
            output::line(&format!(
                "\nError: Executing consumer group command failed due to {reason}"
            ))
        }
        Err(error) => Err(error),
    })
}

fn check(parsed: &Parsed, action: &str) -> Result<(), Misuse> {
    parsed.require("bootstrap-server")?;
    parsed.forbid_with("group", &["all-groups", "list"])?;
    let has_group = parsed.has("group") || parsed.has("all-groups");
    match action {
        "describe" => {
            if !has_group {
                return Err(Misuse::with_usage(
                    "Option [describe] takes one of these options: [group], [all-groups]",
                ));
            }
            if ["members", "offsets", "state"]
                .iter()
                .filter(|name| parsed.has(name))
                .count()
                > 1
            {
                return Err(Misuse::with_usage(
                    "Option [describe] takes at most one of these options: [members], [offsets], [state]",
                ));
            }
            if parsed.get("state").is_some() {
                return Err(Misuse::with_usage(
                    "Option [describe] does not take a value for [state]",
                ));
            }
        }
        "delete" if !has_group => {
            return Err(Misuse::with_usage(
                "Option [delete] takes one of these options: [group], [all-groups]",
            ));
        }
        "delete-offsets" if !(parsed.has("group") && parsed.has("topic")) => {
            return Err(Misuse::with_usage(
                "Option [delete-offsets] takes the following options: [topic], [group]",
            ));
        }
        "reset-offsets" => {
            if parsed.has("execute") && parsed.has("dry-run") {
                return Err(Misuse::with_usage(
                    "Option [reset-offsets] only accepts one of [execute] and [dry-run]",
                ));
            }
            if !has_group {
                return Err(Misuse::with_usage(
                    "Option [reset-offsets] takes one of these options: [group], [all-groups]",
                ));
            }
            target(parsed)?;
        }
        _ => {}
    }
    Ok(())
}

/// The groups that `--group` or `--all-groups` names.
async fn groups(client: &Client, parsed: &Parsed) -> Result<Vec<String>, ClientError> {
    if !parsed.has("all-groups") {
        return Ok(parsed.all("group"));
    }
    let listed = client.list_groups(&[], &[]).await?;
    Ok(consumers(listed).map(|group| group.id).collect())
}

/// Groups of consumers, among others.
fn consumers(listed: Vec<ListedGroup>) -> impl Iterator<Item = ListedGroup> {
    let is_consumers = |group: &ListedGroup| matches!(group.protocol_type.as_str(), "" | "consumer");
    listed
        .into_iter()
        .filter(move |group| is_consumers(group) && !matches!(group.group_type.as_str(), "share" | "streams"))
}

async fn list(client: &Client, parsed: &Parsed) -> anyhow::Result<()> {
    let words = |name: &str| -> Vec<String> {
        let text = parsed.get(name).unwrap_or_default();
        text.split(',')
            .map(|word| word.trim().to_owned())
            .filter(|word| !word.is_empty())
            .collect()
    };
    let listed: Vec<ListedGroup> =
        consumers(client.list_groups(&words("state"), &words("type")).await?).collect();
    output::text(&group_list(&listed, parsed.has("type"), parsed.has("state")))
}

fn group_list(listed: &[ListedGroup], with_type: bool, with_state: bool) -> String {
    if !with_type && !with_state {
        return listed.iter().map(|group| format!("{}\n", group.id)).collect();
    }
    let width = listed.iter().map(|group| group.id.len()).fold(15, usize::max) + 10;
    let mut columns = vec![Column::new("GROUP", width)];
    if with_type {
        columns.push(Column::new("TYPE", 20));
    }
    if with_state {
        columns.push(Column::new("STATE", 20));
    }
    let row = |group: &ListedGroup| {
        let mut row = vec![group.id.clone()];
        row.extend(with_type.then(|| capitalized(&group.group_type)));
        row.extend(with_state.then(|| group.state.clone()));
        row
    };
    table(
        &columns,
        &listed.iter().map(row).collect::<Vec<_>>(),
        Align::Padded,
    )
}

fn capitalized(word: &str) -> String {
    let mut letters = word.chars();
    letters
        .next()
        .map(|first| first.to_uppercase().chain(letters).collect())
        .unwrap_or_default()
}

async fn describe(client: &Client, parsed: &Parsed) -> anyhow::Result<()> {
    for id in groups(client, parsed).await? {
        let group = client
            .describe_group(&id)
            .await
            .and_then(existing)
            .map_err(|error| not_found(error, &id))?;
        let is_verbose = parsed.has("verbose");
        let text = if parsed.has("members") {
            say_state(&group);
            members_table(&group, is_verbose)
        } else if parsed.has("state") {
            say_state(&group);
            state_table(&group, is_verbose)
        } else {
            let states = partition_states(client, &group).await?;
            say_state(&group);
            offsets_table(&group.id, &states, is_verbose)
        };
        output::text(&text)?;
    }
    Ok(())
}

/// The words of Kafka's broker, which a classic description does not carry.
fn not_found(error: ClientError, group: &str) -> ClientError {
    match error {
        ClientError::Broker { what, mut error } if error.code == ErrorCode::GroupIdNotFound => {
            error.message = Some(format!("Group {group} not found."));
            ClientError::Broker { what, error }
        }
        other => other,
    }
}

fn say_state(group: &GroupDescription) {
    match group.state.as_str() {
        "Empty" => eprintln!("\nConsumer group '{}' has no active members.", group.id),
        "PreparingRebalance" | "CompletingRebalance" | "Assigning" | "Reconciling" => {
            eprintln!("\nWarning: Consumer group '{}' is rebalancing.", group.id);
        }
        _ => {}
    }
}

fn dash<T: ToString>(value: Option<T>) -> String {
    value.map_or("-".to_owned(), |value| value.to_string())
}

fn offsets_table(group: &str, states: &[PartitionState], is_verbose: bool) -> String {
    if states.is_empty() {
        return String::new();
    }
    let mut columns = vec![
        Column::at_least("GROUP", 15),
        Column::at_least("TOPIC", 15),
        Column::new("PARTITION", 10),
    ];
    if is_verbose {
        columns.push(Column::new("LEADER-EPOCH", 15));
    }
    columns.extend([
        Column::new("CURRENT-OFFSET", 15),
        Column::new("LOG-END-OFFSET", 15),
        Column::new("LAG", 15),
        Column::at_least("CONSUMER-ID", 15),
        Column::at_least("HOST", 15),
        Column::new("CLIENT-ID", 0),
    ]);
    let row = |state: &PartitionState| {
        let committed = state.committed.as_ref();
        let member = state.member.as_ref();
        let mut row = vec![
            group.to_owned(),
            state.partition.topic.to_string(),
            state.partition.partition.to_string(),
        ];
        if is_verbose {
            row.push(dash(
                committed
                    .map(|committed| committed.leader_epoch)
                    .filter(|epoch| *epoch >= 0),
            ));
        }
        row.extend([
            // A member that has not committed yet is shown where it begins.
            dash(committed.map(|committed| committed.offset)),
            dash(state.end),
            dash(state.lag()),
            dash(member.map(|member| &member.id)),
            dash(member.map(|member| &member.host)),
            dash(member.map(|member| &member.client_id)),
        ]);
        row
    };
    format!(
        "\n{}",
        table(
            &columns,
            &states.iter().map(row).collect::<Vec<_>>(),
            Align::Ragged
        )
    )
}

fn members_table(group: &GroupDescription, is_verbose: bool) -> String {
    let has_static = group.members.iter().any(|member| member.instance_id.is_some());
    let mut columns = vec![Column::at_least("GROUP", 15), Column::at_least("CONSUMER-ID", 15)];
    if has_static {
        columns.push(Column::at_least("GROUP-INSTANCE-ID", 17));
    }
    columns.extend([
        Column::at_least("HOST", 15),
        Column::at_least("CLIENT-ID", 15),
        Column::new("#PARTITIONS", 15),
    ]);
    if is_verbose {
        columns.extend([
            Column::new("CURRENT-EPOCH", 15),
            Column::new("CURRENT-ASSIGNMENT", 20),
            Column::new("TARGET-EPOCH", 15),
            Column::new("TARGET-ASSIGNMENT", 20),
        ]);
    }
    let mut members: Vec<_> = group.members.iter().collect();
    members.sort_by_key(|member| std::cmp::Reverse(member.assignment.partitions.len()));
    let row = |member: &&client::GroupMember| {
        let mut row = vec![group.id.clone(), member.id.clone()];
        row.extend(has_static.then(|| member.instance_id.clone().unwrap_or_default()));
        row.extend([
            member.host.clone(),
            member.client_id.clone(),
            member.assignment.partitions.len().to_string(),
        ]);
        if is_verbose {
            let target = member.target.as_ref();
            row.extend([
                dash(member.assignment.epoch),
                assignment_text(Some(&member.assignment)),
                dash(target.and_then(|target| target.epoch)),
                assignment_text(target),
            ]);
        }
        row
    };
    let rows: Vec<_> = members.iter().map(row).collect();
    let align = if is_verbose { Align::Padded } else { Align::Spaced };
    format!("\n{}", table(&columns, &rows, align))
}

/// `topic:0,1;other:2`, or a dash.
fn assignment_text(assignment: Option<&MemberAssignment>) -> String {
    let mut topics: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for partition in assignment
        .into_iter()
        .flat_map(|assignment| &assignment.partitions)
    {
        topics
            .entry(&partition.topic)
            .or_default()
            .push(partition.partition.to_string());
    }
    if topics.is_empty() {
        return "-".to_owned();
    }
    let topics: Vec<String> = topics
        .iter()
        .map(|(topic, indexes)| format!("{topic}:{}", indexes.join(",")))
        .collect();
    topics.join(";")
}

fn state_table(group: &GroupDescription, is_verbose: bool) -> String {
    let mut columns = vec![
        Column::at_least("GROUP", 15),
        Column::at_least("COORDINATOR (ID)", 25),
        Column::new("ASSIGNMENT-STRATEGY", 20),
        Column::new("STATE", 20),
    ];
    if is_verbose {
        columns.extend([
            Column::new("GROUP-EPOCH", 15),
            Column::new("TARGET-ASSIGNMENT-EPOCH", 25),
        ]);
    }
    columns.push(Column::new("#MEMBERS", 0));
    let mut row = vec![
        group.id.clone(),
        format!("{}  ({})", group.coordinator.address(), group.coordinator.id),
        dash(Some(&group.assignor).filter(|assignor| !assignor.is_empty())),
        group.state.clone(),
    ];
    if is_verbose {
        row.extend([
            dash(group.epochs.map(|(group, _)| group)),
            dash(group.epochs.map(|(_, target)| target)),
        ]);
    }
    row.push(group.members.len().to_string());
    format!("\n{}", table(&columns, &[row], Align::Ragged))
}

async fn delete(client: &Client, parsed: &Parsed) -> anyhow::Result<()> {
    let mut deleted = Vec::new();
    let mut failed = Vec::new();
    for group in groups(client, parsed).await? {
        match client.delete_group(&group).await {
            Ok(()) => deleted.push(format!("'{group}'")),
            Err(error) => failed.push(format!(
                "* Group '{group}' could not be deleted due to: {}",
                java::exception_of(&error)
            )),
        }
    }
    let deleted = deleted.join(", ");
    if failed.is_empty() {
        return output::line(&format!(
            "Deletion of requested consumer groups ({deleted}) was successful."
        ));
    }
    output::line(&format!(
        "\nError: Deletion of some consumer groups failed:\n{}",
        failed.join("\n")
    ))?;
    if deleted.is_empty() {
        return Ok(());
    }
    output::line(&format!(
        "\nThese consumer groups were deleted successfully: {deleted}"
    ))
}

async fn delete_offsets(client: &Client, parsed: &Parsed) -> anyhow::Result<()> {
    let group = parsed.require("group")?;
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut has_failed = false;
    for topic in parsed.all("topic") {
        let partitions = match reset::scope(client, std::slice::from_ref(&topic)).await {
            Ok(partitions) => partitions,
            Err(error) => match error.downcast::<ClientError>() {
                Ok(error) => {
                    rows.push(vec![
                        topic,
                        "-".to_owned(),
                        format!("Error: {}", java::exception_of(&error)),
                    ]);
                    continue;
                }
                Err(error) => return Err(error),
            },
        };
        for (partition, outcome) in client.delete_offsets(group, &partitions).await? {
            has_failed |= outcome.is_err();
            let status = outcome.map_or_else(
                |error| format!("Error: {}", java::exception(&error)),
                |()| "Successful".to_owned(),
            );
            rows.push(vec![
                partition.topic.to_string(),
                partition.partition.to_string(),
                status,
            ]);
        }
    }
    let sentence = if has_failed {
        format!("Encountered some partition level error, see the follow-up details for group {group}:")
    } else {
        format!("Request succeeded for deleting offsets from group {group}.")
    };
    let columns = [
        Column::at_least("TOPIC", 15),
        Column::new("PARTITION", 10),
        Column::new("STATUS", 15),
    ];
    output::text(&format!(
        "{sentence}\n\n{}",
        table(&columns, &rows, Align::Padded)
    ))
}

/// Where `--reset-offsets` moves to; `None` for a file, which is read later.
fn target(parsed: &Parsed) -> Result<Option<Target>, Misuse> {
    const TARGETS: [&str; 8] = [
        "to-offset",
        "to-datetime",
        "by-duration",
        "to-earliest",
        "to-latest",
        "shift-by",
        "from-file",
        "to-current",
    ];
    let name = parsed.exactly_one(&TARGETS).map_err(|_| {
        Misuse::with_usage(format!(
            "Option [reset-offsets] takes exactly one of these options: [{}]",
            TARGETS.join("], [")
        ))
    })?;
    let value = parsed.get(name).unwrap_or_default();
    let wrong = || Misuse::plain(format!("`{value}` cannot be the value of --{name}"));
    Ok(Some(match name {
        "to-offset" => Target::Offset(value.parse().map_err(|_| wrong())?),
        "shift-by" => Target::Shift(value.parse().map_err(|_| wrong())?),
        "to-datetime" => Target::Time(reset::parse_datetime(value).ok_or_else(wrong)?),
        "by-duration" => Target::Time(reset::parse_ago(value).ok_or_else(wrong)?),
        "to-earliest" => Target::Earliest,
        "to-latest" => Target::Latest,
        "to-current" => Target::Current,
        _ => return Ok(None),
    }))
}

async fn reset_offsets(client: &Client, parsed: &Parsed) -> anyhow::Result<()> {
    if !parsed.has("execute") && !parsed.has("dry-run") {
        eprintln!(
            "WARN: No action will be performed as the --execute option is missing. Add --dry-run to say so."
        );
    }
    let groups = groups(client, parsed).await?;
    let mut rows = Vec::new();
    for group in &groups {
        if let Some(state) = active_state(client, group).await? {
            output::line(&format!(
                "\nError: Assignments can only be reset if the group '{group}' is inactive, but the current state is \
                 {state}."
            ))?;
            continue;
        }
        for (partition, offset) in reset_group(client, parsed, group).await? {
            let (topic, index) = (partition.topic.to_string(), partition.partition.to_string());
            rows.push(vec![group.clone(), topic, index, offset.to_string()]);
        }
    }
    if parsed.has("export") {
        let first = usize::from(groups.len() == 1);
        let lines: String = rows
            .iter()
            .map(|row| row.get(first..).unwrap_or_default().join(",") + "\n")
            .collect();
        return output::line(&lines);
    }
    let columns = [
        Column::at_least("GROUP", 15),
        Column::at_least("TOPIC", 15),
        Column::new("PARTITION", 10),
        Column::new("NEW-OFFSET", 0),
    ];
    output::text(&format!("\n{}", table(&columns, &rows, Align::Ragged)))
}

/// The state of a group that cannot be moved because it has members.
async fn active_state(client: &Client, group: &str) -> anyhow::Result<Option<String>> {
    match client.describe_group(group).await {
        Ok(described) => {
            Ok(Some(described.state).filter(|state| !matches!(state.as_str(), "Empty" | "Dead")))
        }
        // A group that does not exist is made by its first offset.
        Err(error) if error.code() == Some(ErrorCode::GroupIdNotFound) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

async fn reset_group(
    client: &Client,
    parsed: &Parsed,
    group: &str,
) -> anyhow::Result<BTreeMap<TopicPartition, i64>> {
    let committed = client.committed_offsets(group).await?;
    let (partitions, target) = match target(parsed)? {
        Some(target) if parsed.has("all-topics") => (committed.keys().cloned().collect(), target),
        Some(target) => {
            parsed.require("topic").map_err(|_| {
                Misuse::with_usage("One of the reset scopes should be defined: --all-topics, --topic.")
            })?;
            (reset::scope(client, &parsed.all("topic")).await?, target)
        }
        None => {
            let offsets = read_csv(parsed.get("from-file").unwrap_or_default(), group)?;
            (offsets.keys().cloned().collect(), Target::Each(offsets))
        }
    };
    let plan = reset::plan(client, &partitions, &committed, &target).await?;
    for note in &plan.notes {
        eprintln!("WARN {note}");
    }
    if parsed.has("execute") {
        reset::execute(client, group, &plan.offsets).await?;
    }
    Ok(plan.offsets)
}

/// The offsets of a group in a file: lines of `topic,partition,offset`, or of `group,topic,partition,offset`.
fn read_csv(path: &str, group: &str) -> anyhow::Result<BTreeMap<TopicPartition, i64>> {
    let text = std::fs::read_to_string(path).map_err(|error| Misuse::plain(format!("{path}: {error}")))?;
    parse_csv(&text, group)
        .map_err(|line| Misuse::plain(format!("{path}: `{line}` is not topic,partition,offset")).into())
}

fn parse_csv(text: &str, group: &str) -> Result<BTreeMap<TopicPartition, i64>, String> {
    let mut offsets = BTreeMap::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let fields: Vec<&str> = line
            .split(',')
            .map(|field| field.trim().trim_matches('"'))
            .collect();
        let (topic, partition, offset) = match fields.as_slice() {
            [topic, partition, offset] => (topic, partition, offset),
            [of, _, _, _] if *of != group => continue,
            [_, topic, partition, offset] => (topic, partition, offset),
            _ => return Err(line.to_owned()),
        };
        let partition: i32 = partition.parse().map_err(|_| line.to_owned())?;
        let offset: i64 = offset.parse().map_err(|_| line.to_owned())?;
        offsets.insert(TopicPartition::new(*topic, partition), offset);
    }
    Ok(offsets)
}

#[cfg(test)]
mod tests;
