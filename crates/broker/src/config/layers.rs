//! Where a setting comes from: what somebody gave the topic, one broker, all brokers, the properties file, the default.

use metadata::Image;
use metadata::image::{ConfigKind, Settings};
use model::config::{ConfigKey, Scope, Synonyms, Value, broker_key};

use super::node::NodeConfig;
use super::properties::Properties;

/// Where a setting comes from, by the number in DescribeConfigs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigSource {
    /// Given to the topic.
    Topic = 1,
    /// Given to one broker.
    Broker = 2,
    /// Given to all brokers.
    AllBrokers = 3,
    /// The properties file or the environment.
    File = 4,
    /// Nobody.
    Default = 5,
    /// Given to the subscription to client metrics.
    ClientMetrics = 7,
    /// Given to the group.
    Group = 8,
}

/// A value with the key it was given under; the key may be a broker's where a topic's is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The key.
    pub name: &'static str,
    /// The value, as given.
    pub value: String,
    /// Who gave it.
    pub source: ConfigSource,
}

/// What holds for a key, and everything it hides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effective {
    /// What holds; `None` for nothing.
    pub value: Option<String>,
    /// Where that comes from.
    pub source: ConfigSource,
    /// Every layer that has a value, the one that holds first.
    pub synonyms: Vec<Setting>,
}

/// The layers of settings as one resource sees them.
#[derive(Clone, Copy, Debug)]
pub struct Layers<'a> {
    resource: Option<&'a Settings>,
    broker: &'a Settings,
    all_brokers: &'a Settings,
    file: &'a Properties,
}

impl<'a> Layers<'a> {
    /// As this broker sees them.
    pub fn of_broker(image: &'a Image, node: &'a NodeConfig) -> Layers<'a> {
        Layers {
            resource: None,
            broker: image.configs.of(ConfigKind::BROKER, &node.node_id.0.to_string()),
            all_brokers: image.configs.of(ConfigKind::BROKER, ""),
            file: &node.properties,
        }
    }

    /// As a topic sees them that has these settings.
    pub fn of_topic(image: &'a Image, node: &'a NodeConfig, settings: &'a Settings) -> Layers<'a> {
        Layers {
            resource: Some(settings),
            ..Layers::of_broker(image, node)
        }
    }

    /// As a group or another named resource sees them.
    pub fn of_resource(image: &'a Image, node: &'a NodeConfig, kind: ConfigKind, name: &str) -> Layers<'a> {
        Layers {
            resource: Some(image.configs.of(kind, name)),
            ..Layers::of_broker(image, node)
        }
    }

    /// What holds for a key.
    pub fn effective(&self, key: &'static ConfigKey) -> Effective {
        let mut synonyms = self.given_to_resource(key);
        let mut unit = 1;
        match key.synonyms {
            Synonyms::None if matches!(key.scope, Scope::Topic | Scope::ClientMetrics) => {}
            Synonyms::None => synonyms.extend(self.of_node(key)),
            Synonyms::Same(name) => {
                synonyms.extend(broker_key(name).into_iter().flat_map(|key| self.of_node(key)))
            }
            Synonyms::Units(names) => {
                let own = synonyms.len();
                for (name, milliseconds) in names {
                    let found = broker_key(name).into_iter().flat_map(|key| self.of_node(key));
                    let before = synonyms.len();
                    synonyms.extend(
                        found.filter(|setting| own == before || setting.source != ConfigSource::Default),
                    );
                    if own == 0 && before == 0 && !synonyms.is_empty() {
                        unit = *milliseconds;
                    }
                }
            }
        }
        let holds = synonyms.first();
        Effective {
            value: match holds {
                Some(setting) => Some(in_milliseconds(&setting.value, unit)),
                None => key.default.map(str::to_owned),
            },
            source: holds.map_or(ConfigSource::Default, |setting| setting.source),
            synonyms,
        }
    }

    /// What holds for a key, typed; `None` for nothing, and for a text that no check let through.
    pub fn value(&self, key: &'static ConfigKey) -> Option<Value> {
        key.parse(&self.effective(key).value?).ok()
    }

    fn given_to_resource(&self, key: &'static ConfigKey) -> Vec<Setting> {
        let source = match key.scope {
            Scope::Topic => ConfigSource::Topic,
            Scope::Group => ConfigSource::Group,
            Scope::ClientMetrics => ConfigSource::ClientMetrics,
            Scope::Broker => return Vec::new(),
        };
        let value = self.resource.and_then(|settings| settings.get(key.name));
        value
            .map(|value| setting(key, value, source))
            .into_iter()
            .collect()
    }

    /// The layers below a resource, for a broker's key or for a group's key that no broker key stands behind.
    fn of_node(&self, key: &'static ConfigKey) -> impl Iterator<Item = Setting> {
        let dynamic = |settings: &'a Settings| settings.get(key.name).map(|value| &**value);
        [
            dynamic(self.broker).map(|value| setting(key, value, ConfigSource::Broker)),
            dynamic(self.all_brokers).map(|value| setting(key, value, ConfigSource::AllBrokers)),
            self.file
                .get(key.name)
                .map(|value| setting(key, value, ConfigSource::File)),
            key.default
                .map(|value| setting(key, value, ConfigSource::Default)),
        ]
        .into_iter()
        .flatten()
    }
}

fn setting(key: &'static ConfigKey, value: &str, source: ConfigSource) -> Setting {
    Setting {
        name: key.name,
        value: value.trim().to_owned(),
        source,
    }
}

/// A number of minutes or hours in milliseconds; a negative one keeps its meaning, which is "without end".
fn in_milliseconds(text: &str, unit: i64) -> String {
    match text.parse::<i64>() {
        Ok(number) if number >= 0 && unit != 1 => number.saturating_mul(unit).to_string(),
        Ok(number) if unit != 1 => number.max(-1).to_string(),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::config::{group_key, topic_key};

    fn settings(pairs: &[(&str, &str)]) -> Settings {
        pairs
            .iter()
            .map(|(name, value)| ((*name).into(), (*value).into()))
            .collect()
    }

    fn shown(layers: &Layers<'_>, name: &str) -> (Option<String>, ConfigSource, Vec<String>) {
        let effective = layers.effective(topic_key(name).expect("declared"));
        let words = |setting: &Setting| format!("{}={} {:?}", setting.name, setting.value, setting.source);
        (
            effective.value,
            effective.source,
            effective.synonyms.iter().map(words).collect(),
        )
    }

    #[test]
    fn the_nearest_layer_holds_and_shows_what_it_hides() {
        let (topic, broker) = (
            settings(&[("segment.bytes", "1048576")]),
            settings(&[("log.segment.bytes", "3000000")]),
        );
        let (all, file) = (
            settings(&[]),
            Properties::from([("log.segment.bytes".to_owned(), " 2097152 ".to_owned())]),
        );
        let layers = Layers {
            resource: Some(&topic),
            broker: &broker,
            all_brokers: &all,
            file: &file,
        };
        let (value, source, synonyms) = shown(&layers, "segment.bytes");
        assert_eq!((value.as_deref(), source), (Some("1048576"), ConfigSource::Topic));
        assert_eq!(
            synonyms,
            [
                "segment.bytes=1048576 Topic",
                "log.segment.bytes=3000000 Broker",
                "log.segment.bytes=2097152 File",
                "log.segment.bytes=1073741824 Default",
            ]
        );
        let layers = Layers {
            resource: Some(&all),
            ..layers
        };
        assert_eq!(shown(&layers, "segment.bytes").0.as_deref(), Some("3000000"));
        assert_eq!(
            shown(&layers, "remote.storage.enable"),
            (Some("false".to_owned()), ConfigSource::Default, vec![])
        );
    }

    #[test]
    fn hours_and_minutes_become_milliseconds() {
        let none = settings(&[]);
        let of = |pairs: &[(&str, &str)]| {
            let file = pairs
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect();
            let layers = Layers {
                resource: Some(&none),
                broker: &none,
                all_brokers: &none,
                file: &file,
            };
            let (value, source, synonyms) = shown(&layers, "retention.ms");
            (
                value.expect("has a default"),
                source,
                synonyms.first().cloned().unwrap_or_default(),
            )
        };
        assert_eq!(
            of(&[]),
            (
                "604800000".to_owned(),
                ConfigSource::Default,
                "log.retention.hours=168 Default".to_owned()
            )
        );
        let hours = ("log.retention.hours", "24");
        let by_hours = (
            "86400000".to_owned(),
            ConfigSource::File,
            "log.retention.hours=24 File".to_owned(),
        );
        assert_eq!(of(&[hours]), by_hours);
        let minutes = ("log.retention.minutes", "5");
        let by_minutes = (
            "300000".to_owned(),
            ConfigSource::File,
            "log.retention.minutes=5 File".to_owned(),
        );
        assert_eq!(of(&[hours, minutes]), by_minutes);
        assert_eq!(of(&[hours, minutes, ("log.retention.ms", "77")]).0, "77");
        assert_eq!(of(&[("log.retention.hours", "-1")]).0, "-1");
    }

    #[test]
    fn a_group_falls_back_to_the_broker() {
        let none = settings(&[]);
        let file = Properties::from([("group.consumer.session.timeout.ms".to_owned(), "50000".to_owned())]);
        let layers = Layers {
            resource: Some(&none),
            broker: &none,
            all_brokers: &none,
            file: &file,
        };
        let session = layers.effective(group_key("consumer.session.timeout.ms").expect("declared"));
        assert_eq!(
            (session.value.as_deref(), session.source),
            (Some("50000"), ConfigSource::File)
        );
        let reset = layers.effective(group_key("share.auto.offset.reset").expect("declared"));
        assert_eq!(
            (reset.value.as_deref(), reset.synonyms.len()),
            (Some("latest"), 1)
        );
    }
}
