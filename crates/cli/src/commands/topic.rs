//! `gracchus topic`: create, list, describe, alter, delete.

use std::collections::BTreeMap;

use clap::{Args, Subcommand};
use client::{
    BrokerError, Client, ClientError, ConfigEntry, ConfigResource, CreateMode, NewTopic, TopicDescription,
};
use model::ErrorCode;
use serde_json::json;

use crate::args::{Connect, Format, key_value};
use crate::output;

/// Partitions per answer when topics are described: the broker's own default.
pub(crate) const PAGE: i32 = 2000;

#[derive(Debug, Subcommand)]
pub(crate) enum TopicCommand {
    /// Make a topic
    Create(CreateArgs),
    /// Name all topics
    List(ListArgs),
    /// Show topics, their settings and their partitions
    Describe(DescribeArgs),
    /// Give a topic more partitions
    Alter(AlterArgs),
    /// Delete topics and all their records
    Delete(DeleteArgs),
}

#[derive(Debug, Args)]
pub(crate) struct CreateArgs {
    /// The topic's name
    name: String,
    /// How many partitions [default: the broker's num.partitions]
    #[arg(short, long)]
    partitions: Option<i32>,
    /// How many copies of each partition [default: the broker's default.replication.factor]
    #[arg(short, long)]
    replication_factor: Option<i16>,
    /// A setting of the topic; may be given several times
    #[arg(short, long, value_name = "KEY=VALUE", value_parser = key_value)]
    config: Vec<(String, String)>,
    /// Succeed when the topic exists already
    #[arg(long)]
    if_not_exists: bool,
    /// Only say whether it could be made
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    cluster: ClusterArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Name the broker's own topics too
    #[arg(short, long)]
    internal: bool,
    #[command(flatten)]
    cluster: ClusterArgs,
}

#[derive(Debug, Args)]
pub(crate) struct DescribeArgs {
    /// The topics' names [default: all]
    names: Vec<String>,
    /// With all topics: the broker's own too
    #[arg(short, long)]
    internal: bool,
    #[command(flatten)]
    cluster: ClusterArgs,
}

#[derive(Debug, Args)]
pub(crate) struct AlterArgs {
    /// The topic's name
    name: String,
    /// How many partitions it shall have in all
    #[arg(short, long)]
    partitions: i32,
    #[command(flatten)]
    cluster: ClusterArgs,
}

#[derive(Debug, Args)]
pub(crate) struct DeleteArgs {
    /// The topics' names
    #[arg(required = true)]
    names: Vec<String>,
    /// Succeed when a topic does not exist
    #[arg(long)]
    if_exists: bool,
    #[command(flatten)]
    cluster: ClusterArgs,
}

/// What every tool takes that asks a cluster something.
#[derive(Debug, Args)]
pub(crate) struct ClusterArgs {
    #[command(flatten)]
    pub(crate) connect: Connect,
    /// How to print the result
    #[arg(short, long, value_enum, default_value_t)]
    pub(crate) output: Format,
}

pub(crate) async fn run(command: TopicCommand) -> anyhow::Result<()> {
    match command {
        TopicCommand::Create(args) => create_command(args).await,
        TopicCommand::List(args) => list_command(args).await,
        TopicCommand::Describe(args) => describe_command(args).await,
        TopicCommand::Alter(args) => alter_command(args).await,
        TopicCommand::Delete(args) => delete_command(args).await,
    }
}

async fn create_command(args: CreateArgs) -> anyhow::Result<()> {
    let topic = NewTopic {
        name: args.name.clone(),
        partitions: args.partitions,
        replication_factor: args.replication_factor,
        assignments: BTreeMap::new(),
        configs: args.config,
    };
    let mode = if args.dry_run {
        CreateMode::ValidateOnly
    } else {
        CreateMode::Create
    };
    let client = args.cluster.connect.client().await?;
    let sentence = match create(&client, &topic, mode).await {
        Ok(()) if args.dry_run => format!("topic {} could be created", args.name),
        Ok(()) => format!("created topic {}", args.name),
        Err(error) if args.if_not_exists && error.code() == Some(ErrorCode::TopicAlreadyExists) => {
            format!("topic {} exists already", args.name)
        }
        Err(error) => return Err(error.into()),
    };
    output::done(
        args.cluster.output,
        &sentence,
        &json!({ "topic": args.name, "result": sentence }),
    )
}

async fn list_command(args: ListArgs) -> anyhow::Result<()> {
    let metadata = args.cluster.connect.client().await?.refresh_all().await?;
    let shown = metadata
        .topics()
        .filter(|topic| args.internal || !topic.is_internal);
    let mut rows = Vec::new();
    let mut topics = Vec::new();
    for topic in shown {
        let copies = topic
            .partitions
            .first()
            .map_or(0, |partition| partition.replicas.len());
        rows.push(vec![
            topic.name.to_string(),
            topic.partitions.len().to_string(),
            copies.to_string(),
        ]);
        topics.push(json!({
            "topic": &*topic.name,
            "partitions": topic.partitions.len(),
            "replication_factor": copies,
            "internal": topic.is_internal,
        }));
    }
    if rows.is_empty() && args.cluster.output == Format::Table {
        return output::line("there are no topics; `gracchus topic create NAME` makes one");
    }
    output::found(
        args.cluster.output,
        &["TOPIC", "PARTITIONS", "REPLICATION"],
        rows,
        &json!(topics),
    )
}

async fn describe_command(args: DescribeArgs) -> anyhow::Result<()> {
    let client = args.cluster.connect.client().await?;
    let names = if args.names.is_empty() {
        let metadata = client.refresh_all().await?;
        let shown = metadata
            .topics()
            .filter(|topic| args.internal || !topic.is_internal);
        shown.map(|topic| topic.name.to_string()).collect()
    } else {
        args.names
    };
    let mut described = Vec::new();
    for (name, outcome) in client.describe_topics(&names, PAGE).await? {
        described.push(outcome.map_err(|error| refused(&name, error))?);
    }
    let configs = configs_of(&client, &described).await?;
    match args.cluster.output {
        Format::Json => {
            let topics: Vec<_> = described
                .iter()
                .map(|topic| topic_json(topic, &configs))
                .collect();
            output::line(&json!(topics).to_string())
        }
        Format::Table => {
            let pages: Vec<String> = described
                .iter()
                .map(|topic| topic_page(topic, &configs))
                .collect();
            output::text(&pages.join("\n"))
        }
    }
}

async fn alter_command(args: AlterArgs) -> anyhow::Result<()> {
    let client = args.cluster.connect.client().await?;
    let outcomes = client.create_partitions(&args.name, args.partitions, &[]).await?;
    refusal(outcomes)?;
    let sentence = format!("topic {} has {} partitions now", args.name, args.partitions);
    let json = json!({ "topic": args.name, "partitions": args.partitions });
    output::done(args.cluster.output, &sentence, &json)
}

async fn delete_command(args: DeleteArgs) -> anyhow::Result<()> {
    let client = args.cluster.connect.client().await?;
    let mut deleted = Vec::new();
    let mut failed = None;
    for (name, outcome) in client.delete_topics(&args.names).await? {
        match outcome {
            Ok(()) => deleted.push(name),
            Err(error) if args.if_exists && error.code == ErrorCode::UnknownTopicOrPartition => {}
            Err(error) => failed = Some(refused(&name, error)),
        }
    }
    if !deleted.is_empty() {
        let sentence = format!("deleted {}", deleted.join(", "));
        output::done(args.cluster.output, &sentence, &json!({ "deleted": deleted }))?;
    }
    failed.map_or(Ok(()), |error| Err(error.into()))
}

/// Makes one topic.
pub(crate) async fn create(client: &Client, topic: &NewTopic, mode: CreateMode) -> Result<(), ClientError> {
    let outcomes = client.create_topics(std::slice::from_ref(topic), mode).await?;
    refusal(outcomes)
}

/// The first refusal in the answer, as an error.
pub(crate) fn refusal<T>(outcomes: client::Outcomes<T>) -> Result<(), ClientError> {
    let first = outcomes
        .into_iter()
        .find_map(|(name, outcome)| Some((name, outcome.err()?)));
    first.map_or(Ok(()), |(name, error)| Err(refused(&name, error)))
}

fn refused(name: &str, error: BrokerError) -> ClientError {
    ClientError::Broker {
        what: format!("topic {name}").into(),
        error,
    }
}

/// The settings of topics by the topics' names. Who may not see them sees none.
pub(crate) async fn configs_of(
    client: &Client,
    topics: &[TopicDescription],
) -> Result<BTreeMap<String, Vec<ConfigEntry>>, ClientError> {
    if topics.is_empty() {
        return Ok(BTreeMap::new());
    }
    let resources: Vec<ConfigResource> = topics
        .iter()
        .map(|topic| ConfigResource::Topic(topic.name.clone()))
        .collect();
    let described = client.describe_configs(&resources).await?;
    Ok(described
        .into_iter()
        .filter_map(|(name, outcome)| Some((name, outcome.ok()?)))
        .collect())
}

/// The settings that differ from the built-in defaults, as `key=value`.
pub(crate) fn overrides(entries: &[ConfigEntry]) -> Vec<String> {
    let changed = entries.iter().filter(|entry| !entry.is_default());
    changed
        .map(|entry| format!("{}={}", entry.name, entry.value.as_deref().unwrap_or_default()))
        .collect()
}

/// Numbers separated by commas.
pub(crate) fn ids(ids: &[i32]) -> String {
    let ids: Vec<String> = ids.iter().map(i32::to_string).collect();
    ids.join(",")
}

fn topic_page(topic: &TopicDescription, configs: &BTreeMap<String, Vec<ConfigEntry>>) -> String {
    let copies = topic
        .partitions
        .first()
        .map_or(0, |partition| partition.replicas.len());
    let overrides = configs
        .get(&topic.name)
        .map(|entries| overrides(entries))
        .unwrap_or_default();
    let mut page = format!(
        "topic {}: partitions {}, copies {copies}, id {}\n",
        topic.name,
        topic.partitions.len(),
        topic.id
    );
    if !overrides.is_empty() {
        page += &format!("settings: {}\n", overrides.join(" "));
    }
    let rows = topic.partitions.iter().map(|partition| {
        vec![
            partition.index.to_string(),
            partition
                .leader
                .map_or("none".to_owned(), |leader| leader.to_string()),
            ids(&partition.replicas),
            ids(&partition.isr),
        ]
    });
    page + &output::table(&["PARTITION", "LEADER", "REPLICAS", "IN SYNC"], rows.collect())
}

fn topic_json(topic: &TopicDescription, configs: &BTreeMap<String, Vec<ConfigEntry>>) -> serde_json::Value {
    let partitions: Vec<_> = topic
        .partitions
        .iter()
        .map(|partition| {
            json!({
                "partition": partition.index,
                "leader": partition.leader,
                "replicas": partition.replicas,
                "isr": partition.isr,
                "eligible_leader_replicas": partition.eligible_leaders,
            })
        })
        .collect();
    let entries = configs.get(&topic.name).map_or(&[][..], Vec::as_slice);
    let settings: BTreeMap<&str, &Option<String>> = entries
        .iter()
        .filter(|entry| !entry.is_default())
        .map(|entry| (entry.name.as_str(), &entry.value))
        .collect();
    json!({
        "topic": topic.name,
        "id": topic.id.to_string(),
        "internal": topic.is_internal,
        "settings": settings,
        "partitions": partitions,
    })
}
