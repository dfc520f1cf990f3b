//! Settings of topics, brokers and other resources, as somebody made them: no defaults here.

use std::collections::BTreeMap;
use std::sync::Arc;

use wire::internal::metadata_log::ConfigRecord;

use crate::delta::{ConfigResource, Delta};
use crate::record::MetadataRecord;
use crate::shared_map::SharedMap;

/// The kind of a resource that has settings, by the number in records and requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConfigKind(pub i8);

impl ConfigKind {
    /// A topic.
    pub const TOPIC: ConfigKind = ConfigKind(2);
    /// A broker, named by its id; the empty name stands for all brokers.
    pub const BROKER: ConfigKind = ConfigKind(4);
    /// A subscription to client metrics.
    pub const CLIENT_METRICS: ConfigKind = ConfigKind(16);
    /// A group.
    pub const GROUP: ConfigKind = ConfigKind(32);
}

/// The settings of one resource by name.
pub type Settings = BTreeMap<Arc<str>, Arc<str>>;

static NO_SETTINGS: Settings = Settings::new();

/// The settings of all resources that have any.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Configs {
    by_kind: BTreeMap<ConfigKind, SharedMap<Arc<str>, Arc<Settings>>>,
}

impl Configs {
    /// The settings of one resource; none when nobody made any.
    pub fn of(&self, kind: ConfigKind, name: &str) -> &Settings {
        self.by_kind
            .get(&kind)
            .and_then(|resources| resources.get(name))
            .map_or(&NO_SETTINGS, |settings| settings)
    }

    /// The settings of a topic.
    pub fn topic(&self, name: &str) -> &Settings {
        self.of(ConfigKind::TOPIC, name)
    }

    /// The resources of one kind that have settings, ordered by name.
    pub fn resources(&self, kind: ConfigKind) -> impl Iterator<Item = (&Arc<str>, &Settings)> {
        self.by_kind
            .get(&kind)
            .into_iter()
            .flat_map(SharedMap::iter)
            .map(|(name, settings)| (name, &**settings))
    }

    pub(super) fn set(&mut self, record: &ConfigRecord, delta: &mut Delta) {
        let kind = ConfigKind(record.resource_type);
        let name: Arc<str> = Arc::from(&*record.resource_name);
        delta.configs.insert(ConfigResource {
            kind,
            name: name.clone(),
        });
        match &record.value {
            Some(value) => {
                let resources = self.by_kind.entry(kind).or_default();
                let mut settings = resources.get(&name).cloned().unwrap_or_default();
                Arc::make_mut(&mut settings).insert(Arc::from(&*record.name), Arc::from(&**value));
                resources.insert(name, settings);
            }
            None => self.remove(kind, &name, &record.name),
        }
    }

    fn remove(&mut self, kind: ConfigKind, resource: &str, name: &str) {
        let Some(resources) = self.by_kind.get_mut(&kind) else {
            return;
        };
        let Some(settings) = resources.get_mut(resource) else {
            return;
        };
        Arc::make_mut(settings).remove(name);
        if settings.is_empty() {
            resources.remove(resource);
        }
        if resources.is_empty() {
            self.by_kind.remove(&kind);
        }
    }

    /// A topic's settings end with the topic.
    pub(super) fn forget_topic(&mut self, name: &str, delta: &mut Delta) {
        let Some(topics) = self.by_kind.get_mut(&ConfigKind::TOPIC) else {
            return;
        };
        if let Some((name, _)) = topics.remove(name) {
            delta.configs.insert(ConfigResource {
                kind: ConfigKind::TOPIC,
                name,
            });
        }
        if topics.is_empty() {
            self.by_kind.remove(&ConfigKind::TOPIC);
        }
    }

    pub(super) fn write(&self, out: &mut dyn FnMut(MetadataRecord)) {
        for (kind, resources) in &self.by_kind {
            for (resource, settings) in resources.iter() {
                for (name, value) in &**settings {
                    out(MetadataRecord::Config(ConfigRecord {
                        resource_type: kind.0,
                        resource_name: resource.as_ref().into(),
                        name: name.as_ref().into(),
                        value: Some(value.as_ref().into()),
                    }));
                }
            }
        }
    }
}
