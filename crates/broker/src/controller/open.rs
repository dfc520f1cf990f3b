//! The controller's start, before anything else of the node runs: replay, first records, registration.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use controller::{
    BrokerError, Context, Decision, PreviousShutdown, bootstrap_records, default_levels, format_records,
    register_broker, register_controller,
};
use metadata::image::Image;
use metadata::{ApplyError, MetadataLog, MetadataRecord, RecordVersions};
use model::{CLUSTER_METADATA, TopicPartition};
use quorum::{Bootstrap, LogError, OpenQuorum};
use storage::{Disk, FolderKind, PartitionFolder, Shutdown};

use super::host::{Controller, Host};
use super::settings;
use crate::config::{self, NodeConfig};
use crate::halt::Halt;
use crate::metadata::{Listeners, registration};
use crate::storage_dirs::{OpenedDirs, random_uuid};

/// What the controller's start needs.
#[derive(Debug)]
pub(crate) struct OpenController<'a> {
    /// The disk.
    pub(crate) disk: Arc<dyn Disk>,
    /// The node's configuration.
    pub(crate) config: Arc<NodeConfig>,
    /// The addresses clients are told, with the ports that were bound.
    pub(crate) advertised: &'a [config::Endpoint],
    /// The log directories, locked.
    pub(crate) dirs: &'a OpenedDirs,
}

/// Why the controller does not start.
#[derive(Debug, thiserror::Error)]
pub enum OpenControllerError {
    /// The metadata log cannot be opened.
    #[error(transparent)]
    Quorum(#[from] quorum::OpenError),
    /// The metadata log cannot be written.
    #[error(transparent)]
    Log(#[from] LogError),
    /// A record this version decided on contradicts the log.
    #[error("the metadata log contradicts what it shall take: {0}")]
    Apply(#[from] ApplyError),
    /// Begun anew, it would know none of the topics whose partitions are there.
    #[error(
        "{} is gone, but {} holds partitions: restore it from a copy, or move them away to begin a new cluster",
        log.display(), dir.display()
    )]
    LogGone {
        /// Where the metadata log should be.
        log: PathBuf,
        /// A directory with partitions.
        dir: PathBuf,
    },
    /// A directory cannot be read.
    #[error("{}: {error}{}", path.display(), storage::full_disk_remedy(error))]
    Disk {
        /// The directory.
        path: PathBuf,
        /// What happened.
        error: std::io::Error,
    },
    /// This node may not join its cluster.
    #[error("this node cannot join its cluster: {0}")]
    Broker(#[from] BrokerError),
    /// The system gives no random numbers.
    #[error("the system gives no random numbers: {0}")]
    Entropy(#[from] getrandom::Error),
}

/// A controller that leads and has registered this node, before its thread runs.
#[derive(Debug)]
pub(crate) struct OpenedController {
    host: Host,
    config: Arc<NodeConfig>,
}

impl OpenController<'_> {
    /// Opens the metadata log, begins it if it is new, and registers this node, fenced.
    pub(crate) fn open(self, now_ms: i64) -> Result<OpenedController, OpenControllerError> {
        self.check_log_is_there()?;
        let config = self.config;
        let quorum = OpenQuorum {
            disk: self.disk,
            log_dir: config.metadata_log_dir.clone(),
            voter: registration::voter(&config, self.dirs.metadata_dir.directory_id),
            configured_voter: config.properties.contains_key("controller.quorum.voters"),
            config: settings::of_log(&config),
        };
        let opened = quorum.open(now_ms)?;
        for warning in &opened.warnings {
            tracing::warn!("{warning}");
        }
        let dir = self.dirs.metadata_dir.log_dir.clone();
        let host = Host::new(dir, opened.quorum, opened.replay, settings::of_decisions(&config));
        let mut starting = OpenedController { host, config };
        if let Some(bootstrap) = opened.bootstrap {
            starting.bootstrap(bootstrap, now_ms)?;
        }
        starting.register(self.advertised, self.dirs, now_ms)?;
        starting.host.log.commit()?;
        Ok(starting)
    }
}

impl OpenController<'_> {
    /// The metadata log is durable before the first partition is made.
    fn check_log_is_there(&self) -> Result<(), OpenControllerError> {
        let metadata = TopicPartition::new(CLUSTER_METADATA, 0);
        let log = self.dirs.metadata_dir.log_dir.partition_path(&metadata);
        let disk_error = |path: &Path| {
            let path = path.to_owned();
            move |error| OpenControllerError::Disk { path, error }
        };
        if self.disk.exists(&log).map_err(disk_error(&log))? {
            return Ok(());
        }
        for opened in &self.dirs.log_dirs {
            let dir = opened.log_dir.path();
            let folders = opened.log_dir.partition_folders().map_err(disk_error(dir))?;
            let is_partition = |folder: &PartitionFolder| folder.kind == FolderKind::Live;
            if folders.iter().any(is_partition) {
                let dir = dir.to_owned();
                return Err(OpenControllerError::LogGone { log, dir });
            }
        }
        Ok(())
    }
}

impl OpenedController {
    /// What the log says. This node leads nothing yet.
    pub(crate) fn image(&self) -> Arc<Image> {
        Arc::new(self.host.replay.image().clone())
    }

    /// Starts the controller's thread. Everything in the image counts as known to the listeners.
    pub(crate) fn start(mut self, halt: Arc<Halt>, listeners: Listeners) -> std::io::Result<Arc<Controller>> {
        self.host.replay.take_delta();
        Controller::start(self.host, self.config, halt, listeners)
    }

    fn bootstrap(&mut self, bootstrap: Bootstrap, now_ms: i64) -> Result<(), OpenControllerError> {
        let left_by_format = match bootstrap {
            Bootstrap::Records(records) => records,
            Bootstrap::Missing => {
                let path = self.host.dir.path().join(quorum::BOOTSTRAP_CHECKPOINT);
                tracing::warn!(
                    "{} is missing or was never written whole: the cluster begins with the newest levels",
                    path.display()
                );
                let levels = default_levels(None, &controller::ChosenLevels::new());
                levels.map(|levels| format_records(&levels)).unwrap_or_default()
            }
        };
        self.write(
            bootstrap_records(&left_by_format, self.host.settings.min_insync_replicas),
            now_ms,
        )
    }

    fn register(
        &mut self,
        advertised: &[config::Endpoint],
        dirs: &OpenedDirs,
        now_ms: i64,
    ) -> Result<(), OpenControllerError> {
        let registration = registration::controller(&self.config, random_uuid()?);
        self.decide(|context| register_controller(context, &registration), now_ms)?;

        let directories = dirs.log_dirs.iter().map(|dir| dir.directory_id).collect();
        let broker = registration::broker(&self.config, advertised, directories, random_uuid()?);
        let last_epoch = self
            .host
            .replay
            .image()
            .cluster
            .broker(broker.id)
            .map(|broker| broker.epoch);
        let clean = dirs.log_dirs.iter().all(|dir| {
            dir.last_shutdown.shutdown == Shutdown::Clean && dir.last_shutdown.broker_epoch == last_epoch
        });
        let previous = if clean {
            PreviousShutdown::Clean
        } else {
            PreviousShutdown::Unclean
        };
        let epoch = self.decide(|context| register_broker(context, &broker, previous), now_ms)??;
        self.host.broker = (broker.id, epoch);
        Ok(())
    }

    fn decide<R>(
        &mut self,
        decide: impl FnOnce(&Context<'_>) -> Decision<R>,
        now_ms: i64,
    ) -> Result<R, OpenControllerError> {
        let context = Context {
            image: self.host.replay.image(),
            settings: &self.host.settings,
            next_offset: self.host.log.next_offset(),
        };
        let decision = decide(&context);
        self.write(decision.records, now_ms)?;
        Ok(decision.reply)
    }

    fn write(&mut self, records: Vec<MetadataRecord>, now_ms: i64) -> Result<(), OpenControllerError> {
        if records.is_empty() {
            return Ok(());
        }
        let versions = RecordVersions::of(&self.host.replay.image().features);
        let position = self.host.log.append(&records, versions, now_ms)?;
        self.host.replay.apply_batch(&records, position)?;
        Ok(())
    }
}
