//! The settings of topics and brokers, and where each value comes from.

use wire::messages::describe_configs::{DescribeConfigsRequest, DescribeConfigsResource};

use crate::admin::Outcomes;
use crate::client::{Client, Use};
use crate::error::{BrokerError, ClientError};

/// Something that has settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigResource {
    /// A topic, by name.
    Topic(String),
    /// A broker, by id.
    Broker(i32),
}

/// One setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigEntry {
    /// Its name.
    pub name: String,
    /// Its value; `None` for none, and for what is secret.
    pub value: Option<String>,
    /// Where the value comes from, by its number on the wire: 5 is the built-in default, 1 the topic itself.
    pub source: i8,
    /// Whether it is secret.
    pub is_sensitive: bool,
}

impl ConfigEntry {
    /// Whether the value differs from the built-in default.
    pub fn is_default(&self) -> bool {
        const DEFAULT_CONFIG: i8 = 5;
        self.source == DEFAULT_CONFIG
    }
}

impl Client {
    /// All settings of topics, or of one broker, by the resource's name. A broker is asked itself.
    pub async fn describe_configs(
        &self,
        resources: &[ConfigResource],
    ) -> Result<Outcomes<Vec<ConfigEntry>>, ClientError> {
        let named = |resource: &ConfigResource| {
            let (resource_type, resource_name) = match resource {
                ConfigResource::Topic(name) => (2, name.as_str().into()),
                ConfigResource::Broker(id) => (4, id.to_string().into()),
            };
            DescribeConfigsResource {
                resource_type,
                resource_name,
                configuration_keys: None,
            }
        };
        let request = DescribeConfigsRequest {
            resources: resources.iter().map(named).collect(),
            ..DescribeConfigsRequest::default()
        };
        let broker = resources.iter().find_map(|resource| match resource {
            ConfigResource::Broker(id) => Some(*id),
            ConfigResource::Topic(_) => None,
        });
        self.retry("describing configurations", || async {
            let connection = match broker {
                Some(id) => self.to_broker(id, Use::Calls).await?,
                None => self.to_any().await?,
            };
            let response = connection.call(&request, self.config().request_timeout).await?;
            let outcome = |result: wire::messages::describe_configs::DescribeConfigsResult| {
                let checked = BrokerError::check(result.error_code, result.error_message.as_deref());
                let entries = result.configs.into_iter().map(|config| ConfigEntry {
                    name: config.name.to_string(),
                    value: config.value.map(|value| value.to_string()),
                    source: config.config_source,
                    is_sensitive: config.is_sensitive,
                });
                (
                    result.resource_name.to_string(),
                    checked.map(|()| entries.collect()),
                )
            };
            Ok(response.results.into_iter().map(outcome).collect())
        })
        .await
    }
}
