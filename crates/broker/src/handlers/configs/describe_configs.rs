//! `DescribeConfigs`: what holds for a topic, a broker, a group or a subscription to client metrics, and where it comes
//! from.
//!
//! - v1 (KIP-226): sources and synonyms. v3 (KIP-569): types and documentation, on request.
//! - A broker describes itself and, under the empty name, what was given to all brokers. The value of a password, and
//!   of a key in the properties file that nobody knows, is never shown.
//! - Where we differ: a resource of an unknown type spoils its own result only, not those of the others; and a topic's
//!   retention set in hours is shown with its synonym `log.retention.hours`, where Kafka calls it a default.

use std::sync::Arc;

use metadata::Image;
use metadata::image::ConfigKind;
use model::config::{
    ConfigKey, Update, broker_key, broker_keys, client_metrics_keys, group_keys, topic_keys,
};
use model::{ErrorCode, validate_topic_name};
use wire::Str;
use wire::messages::describe_configs::{
    DescribeConfigsRequest, DescribeConfigsResource, DescribeConfigsResourceResult, DescribeConfigsResponse,
    DescribeConfigsResult, DescribeConfigsSynonym,
};

use crate::config::{ConfigSource, Layers, NodeConfig, Setting};
use crate::dispatch::{ApiSpec, Handler, Node, Reply, RequestContext};

/// The kind of a broker's loggers; ours are not changed at run time, so none is listed.
const BROKER_LOGGER: ConfigKind = ConfigKind(8);

/// The most entries of one answer, so that a request of a few bytes per resource cannot fill the memory.
const ENTRIES_MAX: usize = 500_000;

/// The handler.
pub struct DescribeConfigs;

impl Handler for DescribeConfigs {
    type Request = DescribeConfigsRequest;
    const SPEC: ApiSpec = ApiSpec::of::<DescribeConfigsRequest>();

    fn handle(
        node: &Arc<Node>,
        _: &RequestContext,
        request: DescribeConfigsRequest,
    ) -> Reply<DescribeConfigsResponse> {
        Reply::Now(describe(&node.metadata.image(), &node.config, &request))
    }
}

/// Answers a request from the image.
fn describe(image: &Image, node: &NodeConfig, request: &DescribeConfigsRequest) -> DescribeConfigsResponse {
    let mut entries = 0;
    let results = request
        .resources
        .iter()
        .map(|resource| {
            let description = Description {
                image,
                node,
                request,
                resource,
            };
            let described = if entries > ENTRIES_MAX {
                Err((
                    ErrorCode::InvalidRequest,
                    "Too many resources for one request: ask for fewer".to_owned(),
                ))
            } else {
                description.configs()
            };
            let (error, message, configs) = match described {
                Ok(configs) => (ErrorCode::None, Str::new(), configs),
                Err((error, message)) => (error, message.into(), Vec::new()),
            };
            entries += configs.len();
            DescribeConfigsResult {
                error_code: error.code(),
                error_message: Some(message),
                resource_type: resource.resource_type,
                resource_name: resource.resource_name.clone(),
                configs,
            }
        })
        .collect();
    DescribeConfigsResponse {
        throttle_time_ms: 0,
        results,
    }
}

/// One resource of a request.
struct Description<'a> {
    image: &'a Image,
    node: &'a NodeConfig,
    request: &'a DescribeConfigsRequest,
    resource: &'a DescribeConfigsResource,
}

type Configs = Vec<DescribeConfigsResourceResult>;
type Refusal = (ErrorCode, String);

impl Description<'_> {
    fn configs(&self) -> Result<Configs, Refusal> {
        let name = &*self.resource.resource_name;
        match ConfigKind(self.resource.resource_type) {
            ConfigKind::TOPIC => self.of_topic(name),
            ConfigKind::BROKER if name.is_empty() => Ok(self.of_all_brokers()),
            ConfigKind::BROKER => {
                self.check_broker(name, " or empty string,")?;
                Ok(self.of_this_broker())
            }
            BROKER_LOGGER => self.check_broker(name, "").map(|()| Vec::new()),
            ConfigKind::GROUP => self.of_named(ConfigKind::GROUP, group_keys(), "Group name"),
            ConfigKind::CLIENT_METRICS => self.of_named(
                ConfigKind::CLIENT_METRICS,
                client_metrics_keys(),
                "Client metrics subscription name",
            ),
            ConfigKind(kind) => Err((
                ErrorCode::InvalidRequest,
                format!("Unexpected resource type {kind}"),
            )),
        }
    }

    fn of_topic(&self, name: &str) -> Result<Configs, Refusal> {
        validate_topic_name(name).map_err(|error| (ErrorCode::InvalidTopicException, error.to_string()))?;
        if self.image.topics.by_name(name).is_none() {
            return Err((ErrorCode::UnknownTopicOrPartition, String::new()));
        }
        let layers = Layers::of_topic(self.image, self.node, self.image.configs.topic(name));
        let shown = topic_keys()
            .iter()
            .filter(|key| !key.name.starts_with("internal."));
        Ok(shown
            .filter(|key| self.asks_for(key.name))
            .map(|key| self.entry(&layers, key))
            .collect())
    }

    fn check_broker(&self, name: &str, or: &str) -> Result<(), Refusal> {
        let id = name.parse::<i32>().map_err(|_| {
            (
                ErrorCode::InvalidRequest,
                format!("Broker id must be an integer, but it is: {name}"),
            )
        })?;
        if id == self.node.node_id.0 {
            return Ok(());
        }
        let message = format!(
            "Unexpected broker id, expected {}{or} but received {id}",
            self.node.node_id.0
        );
        Err((ErrorCode::InvalidRequest, message))
    }

    fn of_this_broker(&self) -> Configs {
        let layers = Layers::of_broker(self.image, self.node);
        let known = broker_keys()
            .filter(|key| self.asks_for(key.name))
            .map(|key| self.entry(&layers, key));
        let strangers = self
            .node
            .properties
            .keys()
            .filter(|name| broker_key(name).is_none() && self.asks_for(name));
        known.chain(strangers.map(|name| self.stranger(name))).collect()
    }

    /// Only what was given to all brokers: there are no defaults to show beside it.
    fn of_all_brokers(&self) -> Configs {
        let given = self.image.configs.of(ConfigKind::BROKER, "").iter();
        given
            .filter(|(name, _)| self.asks_for(name))
            .filter_map(|(name, value)| {
                let key = broker_key(name)?;
                let value = (**value).to_owned();
                let setting = Setting {
                    name: key.name,
                    value: value.clone(),
                    source: ConfigSource::AllBrokers,
                };
                Some(DescribeConfigsResourceResult {
                    read_only: false,
                    ..self.shown(key, Some(value), ConfigSource::AllBrokers, &[setting])
                })
            })
            .collect()
    }

    fn of_named(&self, kind: ConfigKind, keys: &'static [ConfigKey], what: &str) -> Result<Configs, Refusal> {
        let name = &*self.resource.resource_name;
        if name.is_empty() {
            return Err((ErrorCode::InvalidRequest, format!("{what} must not be empty")));
        }
        let layers = Layers::of_resource(self.image, self.node, kind, name);
        Ok(keys
            .iter()
            .filter(|key| self.asks_for(key.name))
            .map(|key| self.entry(&layers, key))
            .collect())
    }

    /// No list of keys, or an empty one, asks for all.
    fn asks_for(&self, name: &str) -> bool {
        let keys = self.resource.configuration_keys.as_deref().unwrap_or_default();
        keys.is_empty() || keys.iter().any(|key| &**key == name)
    }

    fn entry(&self, layers: &Layers<'_>, key: &'static ConfigKey) -> DescribeConfigsResourceResult {
        let effective = layers.effective(key);
        self.shown(key, effective.value, effective.source, &effective.synonyms)
    }

    fn shown(
        &self,
        key: &'static ConfigKey,
        value: Option<String>,
        source: ConfigSource,
        synonyms: &[Setting],
    ) -> DescribeConfigsResourceResult {
        let unless_secret = |value: String| (!key.is_sensitive()).then(|| Str::from(value));
        let synonyms = if self.request.include_synonyms {
            synonyms
        } else {
            &[]
        };
        DescribeConfigsResourceResult {
            name: key.name.into(),
            value: value.and_then(unless_secret),
            read_only: key.update == Update::ReadOnly,
            config_source: source as i8,
            is_sensitive: key.is_sensitive(),
            synonyms: synonyms
                .iter()
                .map(|setting| DescribeConfigsSynonym {
                    name: setting.name.into(),
                    value: unless_secret(setting.value.clone()),
                    source: setting.source as i8,
                })
                .collect(),
            config_type: key.kind as i8,
            documentation: self
                .request
                .include_documentation
                .then(|| key.documentation().into()),
        }
    }

    /// A key of the properties file that nobody knows: it might be a secret.
    fn stranger(&self, name: &str) -> DescribeConfigsResourceResult {
        let synonym = DescribeConfigsSynonym {
            name: name.into(),
            value: None,
            source: ConfigSource::File as i8,
        };
        DescribeConfigsResourceResult {
            name: name.into(),
            value: None,
            read_only: true,
            config_source: ConfigSource::File as i8,
            is_sensitive: true,
            synonyms: if self.request.include_synonyms {
                vec![synonym]
            } else {
                Vec::new()
            },
            config_type: 0,
            documentation: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use metadata::{Delta, MetadataRecord};
    use wire::internal::metadata_log::{ConfigRecord, TopicRecord};

    fn node() -> NodeConfig {
        let given = [
            ("process.roles", "broker,controller"),
            ("node.id", "1"),
            ("controller.listener.names", "C"),
            ("listeners", "PLAINTEXT://localhost:9092,C://localhost:9093"),
            ("log.segment.bytes", "2097152"),
            ("ssl.key.password", "hush"),
            ("my.own.key", "hush"),
        ];
        let owned = |(name, text): &(&str, &str)| ((*name).to_owned(), (*text).to_owned());
        NodeConfig::from_properties(given.iter().map(owned).collect()).unwrap()
    }

    fn image() -> Image {
        let config = |resource_type: ConfigKind, resource: &str, name: &str, value: &str| {
            MetadataRecord::Config(ConfigRecord {
                resource_type: resource_type.0,
                resource_name: resource.into(),
                name: name.into(),
                value: Some(value.into()),
            })
        };
        let records = [
            MetadataRecord::Topic(TopicRecord {
                name: "orders".into(),
                topic_id: model::Uuid([7; 16]),
            }),
            config(ConfigKind::TOPIC, "orders", "segment.bytes", "1048576"),
            config(ConfigKind::BROKER, "", "min.insync.replicas", "1"),
        ];
        let (mut image, mut delta) = (Image::default(), Delta::default());
        for record in &records {
            image.apply(record, &mut delta).unwrap();
        }
        image
    }

    fn ask(kind: i8, name: &str, keys: Option<&[&str]>) -> DescribeConfigsResult {
        let request = DescribeConfigsRequest {
            resources: vec![DescribeConfigsResource {
                resource_type: kind,
                resource_name: name.into(),
                configuration_keys: keys.map(|keys| keys.iter().map(|key| Str::from(*key)).collect()),
            }],
            include_synonyms: true,
            include_documentation: true,
        };
        describe(&image(), &node(), &request).results.remove(0)
    }

    fn entry(result: &DescribeConfigsResult, name: &str) -> DescribeConfigsResourceResult {
        result
            .configs
            .iter()
            .find(|config| &*config.name == name)
            .unwrap()
            .clone()
    }

    #[test]
    fn a_topic_shows_all_its_keys_and_where_values_come_from() {
        let orders = ask(2, "orders", None);
        assert_eq!(
            (orders.error_code, orders.configs.len()),
            (0, 33 + 2),
            "Kafka's keys and our own"
        );
        let segment = entry(&orders, "segment.bytes");
        assert_eq!(
            (segment.value.as_deref(), segment.config_source, segment.read_only),
            (Some("1048576"), 1, false)
        );
        let sources: Vec<_> = segment
            .synonyms
            .iter()
            .map(|synonym| (&*synonym.name, synonym.source))
            .collect();
        assert_eq!(
            sources,
            [
                ("segment.bytes", 1),
                ("log.segment.bytes", 4),
                ("log.segment.bytes", 5)
            ]
        );
        assert_eq!(entry(&orders, "min.insync.replicas").config_source, 3);
        assert!(
            entry(&orders, "retention.ms")
                .documentation
                .is_some_and(|text| text.contains("for ever"))
        );
    }

    #[test]
    fn an_empty_list_of_keys_asks_for_all_and_a_list_for_its_own() {
        assert_eq!(ask(2, "orders", Some(&[])).configs.len(), 33 + 2);
        let two = ask(2, "orders", Some(&["retention.ms", "no.such"]));
        assert_eq!(
            two.configs.iter().map(|config| &*config.name).collect::<Vec<_>>(),
            ["retention.ms"]
        );
    }

    #[test]
    fn a_secret_is_never_shown() {
        let broker = ask(4, "1", None);
        assert_eq!(
            broker.configs.len(),
            broker_keys().count() + 1,
            "and the key nobody knows"
        );
        for name in ["ssl.key.password", "my.own.key"] {
            let secret = entry(&broker, name);
            assert!(secret.is_sensitive && secret.config_source == 4, "{name}");
            assert_eq!(secret.value, None);
            assert!(
                secret.synonyms.iter().all(|synonym| synonym.value.is_none()),
                "{name}"
            );
        }
        assert!(entry(&broker, "node.id").read_only);
        assert!(!entry(&broker, "log.segment.bytes").read_only);
    }

    #[test]
    fn all_brokers_groups_and_subscriptions_are_described() {
        let all = ask(4, "", None);
        assert_eq!(
            all.configs.iter().map(|config| &*config.name).collect::<Vec<_>>(),
            ["min.insync.replicas"]
        );
        assert_eq!(ask(32, "any", None).configs.len(), 17);
        assert_eq!(ask(16, "any", None).configs.len(), 3);
        assert_eq!(
            (ask(8, "1", None).error_code, ask(8, "1", None).configs.len()),
            (0, 0)
        );
    }

    #[test]
    fn a_request_for_very_many_resources_is_answered_in_part() {
        let resource = DescribeConfigsResource {
            resource_type: 4,
            resource_name: "1".into(),
            configuration_keys: None,
        };
        let request = DescribeConfigsRequest {
            resources: vec![resource; 3 + ENTRIES_MAX / broker_keys().count()],
            ..DescribeConfigsRequest::default()
        };
        let results = describe(&image(), &node(), &request).results;
        assert_eq!(results.first().map(|result| result.error_code), Some(0));
        assert_eq!(
            results.last().map(|result| result.error_code),
            Some(ErrorCode::InvalidRequest.code())
        );
        let entries: usize = results.iter().map(|result| result.configs.len()).sum();
        assert!(entries <= ENTRIES_MAX + 400, "{entries}");
    }

    #[test]
    fn wrong_resources_are_refused_as_kafka_does() {
        let cases: [(i8, &str, ErrorCode, &str); 7] = [
            (2, "gone", ErrorCode::UnknownTopicOrPartition, ""),
            (2, "..", ErrorCode::InvalidTopicException, "topic name"),
            (
                4,
                "77",
                ErrorCode::InvalidRequest,
                "expected 1 or empty string, but received 77",
            ),
            (
                4,
                "abc",
                ErrorCode::InvalidRequest,
                "must be an integer, but it is: abc",
            ),
            (8, "77", ErrorCode::InvalidRequest, "expected 1 but received 77"),
            (32, "", ErrorCode::InvalidRequest, "Group name must not be empty"),
            (99, "x", ErrorCode::InvalidRequest, "Unexpected resource type 99"),
        ];
        for (kind, name, error, message) in cases {
            let result = ask(kind, name, None);
            assert_eq!(result.error_code, error.code(), "{kind} {name}");
            let text = result.error_message.unwrap_or_default();
            assert!(text.contains(message), "{text}");
            assert!(result.configs.is_empty());
        }
    }
}
