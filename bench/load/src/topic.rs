//! Creates and deletes topics through librdkafka's admin client, so that every broker is asked in the same way.

use std::time::Duration;

use anyhow::{Result, bail};
use clap::Args;
use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use serde_json::{Value, json};

use crate::Target;

const TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Args)]
pub(crate) struct Options {
    /// `--set` gives settings of the topic.
    #[command(flatten)]
    target: Target,
    /// Delete it.
    #[arg(long)]
    delete: bool,
}

/// Creates or deletes a topic.
pub(crate) fn run(options: &Options) -> Result<Value> {
    let target = &options.target;
    let client: AdminClient<DefaultClientContext> = ClientConfig::new()
        .set("bootstrap.servers", &target.bootstrap)
        .create()?;
    let patience = AdminOptions::new()
        .operation_timeout(Some(TIMEOUT))
        .request_timeout(Some(TIMEOUT));
    let results = if options.delete {
        futures_executor::block_on(client.delete_topics(&[&target.topic], &patience))?
    } else {
        let mut topic = NewTopic::new(
            &target.topic,
            target.partitions as i32,
            TopicReplication::Fixed(1),
        );
        for (key, value) in &target.settings {
            topic = topic.set(key, value);
        }
        futures_executor::block_on(client.create_topics([&topic], &patience))?
    };
    for result in results {
        if let Err((name, code)) = result {
            bail!("{name}: {code}");
        }
    }
    Ok(json!({"topic": target.topic}))
}
