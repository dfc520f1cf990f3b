//! `gracchus group`: list, describe, reset, delete.

use std::collections::BTreeMap;

use anyhow::Context as _;
use clap::{Args, Subcommand};
use client::{
    Client, ClientError, CommittedOffset, GroupDescription, GroupMember, IsolationLevel, OffsetSpec,
};
use model::TopicPartition;
use serde_json::json;

use crate::args::Format;
use crate::commands::reset::{self, Target};
use crate::commands::topic::ClusterArgs;
use crate::failure::Usage;
use crate::output;

#[derive(Debug, Subcommand)]
pub(crate) enum GroupCommand {
    /// Name all groups
    List(ListArgs),
    /// Show a group's members, and how far it is in each partition
    Describe(DescribeArgs),
    /// Move a group that has no members to other offsets
    Reset(ResetArgs),
    /// Delete groups that have no members, with their offsets
    Delete(DeleteArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Only groups in this state, such as stable or empty; may be given several times
    #[arg(long)]
    state: Vec<String>,
    #[command(flatten)]
    cluster: ClusterArgs,
}

#[derive(Debug, Args)]
pub(crate) struct DescribeArgs {
    /// The groups' ids
    #[arg(required = true)]
    groups: Vec<String>,
    #[command(flatten)]
    cluster: ClusterArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ResetArgs {
    /// The group's id
    group: String,
    /// A topic, or some of its partitions as TOPIC:0,1; may be given several times
    #[arg(short, long, required = true)]
    topic: Vec<String>,
    /// earliest, latest, an offset, +N or -N to move, or @MS for a time in milliseconds
    #[arg(long, value_name = "WHERE", allow_hyphen_values = true)]
    to: String,
    /// Only show what would be set
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    cluster: ClusterArgs,
}

#[derive(Debug, Args)]
pub(crate) struct DeleteArgs {
    /// The groups' ids
    #[arg(required = true)]
    groups: Vec<String>,
    #[command(flatten)]
    cluster: ClusterArgs,
}

pub(crate) async fn run(command: GroupCommand) -> anyhow::Result<()> {
    match command {
        GroupCommand::List(args) => list(args).await,
        GroupCommand::Describe(args) => describe(args).await,
        GroupCommand::Reset(args) => reset(args).await,
        GroupCommand::Delete(args) => delete(args).await,
    }
}

async fn list(args: ListArgs) -> anyhow::Result<()> {
    let groups = args
        .cluster
        .connect
        .client()
        .await?
        .list_groups(&args.state, &[])
        .await?;
    if groups.is_empty() && args.cluster.output == Format::Table {
        return output::line("there are no such groups; `gracchus consume TOPIC --group NAME` makes one");
    }
    let rows = groups
        .iter()
        .map(|group| vec![group.id.clone(), group.group_type.clone(), group.state.clone()]);
    let values = groups.iter().map(|group| {
        json!({
            "group": group.id,
            "type": group.group_type,
            "state": group.state,
            "protocol_type": group.protocol_type,
        })
    });
    output::found(
        args.cluster.output,
        &["GROUP", "TYPE", "STATE"],
        rows.collect(),
        &values.collect(),
    )
}

async fn describe(args: DescribeArgs) -> anyhow::Result<()> {
    let client = args.cluster.connect.client().await?;
    let mut pages = Vec::new();
    let mut values = Vec::new();
    let mut failed = None;
    for id in &args.groups {
        match describe_one(&client, id).await {
            Ok((group, states)) => {
                pages.push(page(&group, &states));
                values.push(group_json(&group, &states));
            }
            // The others are shown all the same.
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    match args.cluster.output {
        Format::Json => output::line(&json!(values).to_string())?,
        Format::Table => output::text(&pages.join("\n"))?,
    }
    failed.map_or(Ok(()), |error| Err(error.into()))
}

async fn describe_one(
    client: &Client,
    id: &str,
) -> Result<(GroupDescription, Vec<PartitionState>), ClientError> {
    let group = client.describe_group(id).await.and_then(existing)?;
    let states = partition_states(client, &group).await?;
    Ok((group, states))
}

/// A classic group that does not exist is answered as a dead one.
pub(crate) fn existing(group: GroupDescription) -> Result<GroupDescription, ClientError> {
    if group.state != "Dead" {
        return Ok(group);
    }
    Err(ClientError::Broker {
        what: format!("group `{}`", group.id).into(),
        error: model::ErrorCode::GroupIdNotFound.into(),
    })
}

async fn delete(args: DeleteArgs) -> anyhow::Result<()> {
    let client = args.cluster.connect.client().await?;
    for group in &args.groups {
        client.delete_group(group).await?;
        let sentence = format!("deleted group {group}");
        output::done(args.cluster.output, &sentence, &json!({ "deleted": group }))?;
    }
    Ok(())
}

async fn reset(args: ResetArgs) -> anyhow::Result<()> {
    let client = args.cluster.connect.client().await?;
    let target = Target::parse(&args.to).map_err(Usage)?;
    let partitions = reset::scope(&client, &args.topic).await?;
    let committed = client.committed_offsets(&args.group).await?;
    let plan = reset::plan(&client, &partitions, &committed, &target).await?;
    if !args.dry_run {
        reset::execute(&client, &args.group, &plan.offsets)
            .await
            .with_context(|| format!("group {} was not moved", args.group))?;
    }
    for note in &plan.notes {
        eprintln!("note: {note}");
    }
    let rows = plan.offsets.iter().map(|(partition, offset)| {
        let before = committed.get(partition).map(|committed| committed.offset);
        vec![
            partition.topic.to_string(),
            partition.partition.to_string(),
            shown(before),
            offset.to_string(),
        ]
    });
    let values = plan
        .offsets
        .iter()
        .map(|(partition, offset)| json!({ "topic": &*partition.topic, "partition": partition.partition, "offset": offset }));
    let columns = [
        "TOPIC",
        "PARTITION",
        "BEFORE",
        if args.dry_run { "WOULD BE" } else { "NOW" },
    ];
    output::found(args.cluster.output, &columns, rows.collect(), &values.collect())
}

/// How far a group is in a partition, and who reads it.
#[derive(Clone, Debug)]
pub(crate) struct PartitionState {
    pub(crate) partition: TopicPartition,
    pub(crate) committed: Option<CommittedOffset>,
    /// The end of the partition; `None` where it could not be found out.
    pub(crate) end: Option<i64>,
    pub(crate) member: Option<GroupMember>,
}

impl PartitionState {
    /// How many records are still to be read.
    pub(crate) fn lag(&self) -> Option<i64> {
        Some(self.end? - self.committed.as_ref()?.offset)
    }
}

/// The partitions of a group: those of the members with the most first, then those that only have an offset.
pub(crate) async fn partition_states(
    client: &Client,
    group: &GroupDescription,
) -> Result<Vec<PartitionState>, ClientError> {
    let mut committed = client.committed_offsets(&group.id).await?;
    let mut members: Vec<&GroupMember> = group.members.iter().collect();
    members.sort_by_key(|member| std::cmp::Reverse(member.assignment.partitions.len()));
    let mut states = Vec::new();
    for member in members {
        for partition in &member.assignment.partitions {
            states.push(PartitionState {
                committed: committed.remove(partition),
                partition: partition.clone(),
                end: None,
                member: Some(member.clone()),
            });
        }
    }
    let others = committed
        .into_iter()
        .map(|(partition, committed)| PartitionState {
            partition,
            committed: Some(committed),
            end: None,
            member: None,
        });
    states.extend(others);
    let wanted: BTreeMap<TopicPartition, OffsetSpec> = states
        .iter()
        .map(|state| (state.partition.clone(), OffsetSpec::Latest))
        .collect();
    let ends = client
        .list_offsets(&wanted, IsolationLevel::ReadUncommitted)
        .await?;
    for state in &mut states {
        state.end = ends
            .get(&state.partition)
            .and_then(|found| found.as_ref().ok()?.offset);
    }
    Ok(states)
}

fn shown(number: Option<i64>) -> String {
    number.map_or("-".to_owned(), |number| number.to_string())
}

fn page(group: &GroupDescription, states: &[PartitionState]) -> String {
    let lag: i64 = states.iter().filter_map(PartitionState::lag).sum();
    let assignor = if group.assignor.is_empty() {
        "none yet"
    } else {
        &group.assignor
    };
    let mut page = format!(
        "group {}: {}, {} members, assignor {assignor}, coordinator {} ({}), lag {lag}\n",
        group.id,
        group.state,
        group.members.len(),
        group.coordinator.id,
        group.coordinator.address(),
    );
    let members = group.members.iter().map(|member| {
        vec![
            member.id.clone(),
            member.client_id.clone(),
            member.host.clone(),
            member.assignment.partitions.len().to_string(),
        ]
    });
    if !group.members.is_empty() {
        page += &output::table(&["MEMBER", "CLIENT", "HOST", "PARTITIONS"], members.collect());
    }
    let rows = states.iter().map(|state| {
        vec![
            state.partition.topic.to_string(),
            state.partition.partition.to_string(),
            shown(state.committed.as_ref().map(|committed| committed.offset)),
            shown(state.end),
            shown(state.lag()),
            state
                .member
                .as_ref()
                .map_or("-".to_owned(), |member| member.client_id.clone()),
        ]
    });
    if !states.is_empty() {
        page += &output::table(
            &["TOPIC", "PARTITION", "OFFSET", "END", "LAG", "READ BY"],
            rows.collect(),
        );
    }
    page
}

fn group_json(group: &GroupDescription, states: &[PartitionState]) -> serde_json::Value {
    let members: Vec<_> = group
        .members
        .iter()
        .map(|member| {
            let partitions: Vec<String> = member
                .assignment
                .partitions
                .iter()
                .map(ToString::to_string)
                .collect();
            json!({
                "member": member.id,
                "instance": member.instance_id,
                "client": member.client_id,
                "host": member.host,
                "partitions": partitions,
            })
        })
        .collect();
    let partitions: Vec<_> = states
        .iter()
        .map(|state| {
            json!({
                "topic": &*state.partition.topic,
                "partition": state.partition.partition,
                "offset": state.committed.as_ref().map(|committed| committed.offset),
                "end": state.end,
                "lag": state.lag(),
                "member": state.member.as_ref().map(|member| &member.id),
            })
        })
        .collect();
    json!({
        "group": group.id,
        "state": group.state,
        "assignor": group.assignor,
        "coordinator": group.coordinator.id,
        "members": members,
        "partitions": partitions,
    })
}
