//! Nodes, the quorum and the metadata log.

use super::super::row::*;

broker_keys! {
    "alter.config.policy.class.name" Class NONE, ANY, ReadOnly, LATER;
    "auto.leader.rebalance.enable" Boolean "true", ANY, ReadOnly, LATER;
    "broker.heartbeat.interval.ms" Int "2000", ANY, ReadOnly, LATER;
    "broker.id" Int "-1", ANY, ReadOnly, "The older name of node.id.";
    "broker.rack" String NONE, ANY, ReadOnly,
        "Where the broker stands; shown to clients, and used to spread replicas.";
    "broker.session.timeout.ms" Int "9000", ANY, ReadOnly, LATER;
    "controlled.shutdown.enable" Boolean "true", ANY, ReadOnly, LATER;
    "controller.listener.names" List NONE, ANY, ReadOnly,
        "The listeners of the controller; clients are not told about them.";
    "controller.quorum.append.linger.ms" Int "25", at_least(0), ReadOnly, LATER;
    "controller.quorum.auto.join.enable" Boolean "false", ANY, ReadOnly, LATER;
    "controller.quorum.bootstrap.servers" List "", ANY, ReadOnly,
        "Controllers to ask for the quorum. This version runs a quorum of one and asks nobody.";
    "controller.quorum.election.backoff.max.ms" Int "1000", at_least(0), ReadOnly, LATER;
    "controller.quorum.election.timeout.ms" Int "1000", at_least(0), ReadOnly, LATER;
    "controller.quorum.fetch.max.bytes" Int "1048576", at_least(1), ReadOnly, LATER;
    "controller.quorum.fetch.snapshot.max.bytes" Int "1048576", at_least(1), ReadOnly, LATER;
    "controller.quorum.fetch.timeout.ms" Int "2000", at_least(0), ReadOnly, LATER;
    "controller.quorum.request.timeout.ms" Int "2000", at_least(0), ReadOnly, LATER;
    "controller.quorum.retry.backoff.ms" Int "20", at_least(0), ReadOnly, LATER;
    "controller.quorum.voters" List "", ANY, ReadOnly,
        "The controllers as id@host:port. This version runs a quorum of one: the only voter must be this node.";
    "controller.socket.timeout.ms" Int "30000", ANY, ReadOnly, LATER;
    "create.topic.policy.class.name" Class NONE, ANY, ReadOnly, LATER;
    "initial.broker.registration.timeout.ms" Int "60000", ANY, ReadOnly, LATER;
    "leader.imbalance.check.interval.seconds" Long "300", at_least(1), ReadOnly, LATER;
    "log.dir.failure.timeout.ms" Long "30000", at_least(1), ReadOnly, LATER;
    "metadata.log.dir" String NONE, ANY, ReadOnly,
        "The directory of the cluster metadata log; the first of log.dirs when unset.";
    "metadata.log.max.record.bytes.between.snapshots" Long "20971520", at_least(1), ReadOnly,
        "A snapshot of the metadata is written once this many bytes were logged since the one before.";
    "metadata.log.max.snapshot.interval.ms" Long "3600000", at_least(0), ReadOnly,
        "A snapshot of the metadata is written once this time has passed since the one before, if there is anything new; 0 turns it off.";
    "metadata.log.segment.bytes" Int "1073741824", at_least(8_388_608), ReadOnly,
        "The largest size of a segment of the metadata log.";
    "metadata.log.segment.ms" Long "604800000", ANY, ReadOnly,
        "The age at which a segment of the metadata log is closed.";
    "metadata.max.idle.interval.ms" Int "500", at_least(0), ReadOnly, LATER;
    "metadata.max.retention.bytes" Long "104857600", ANY, ReadOnly,
        "How much of the metadata log and its snapshots is kept beyond the newest snapshot.";
    "metadata.max.retention.ms" Long "604800000", ANY, ReadOnly,
        "How long the metadata log and its snapshots are kept beyond the newest snapshot.";
    "node.id" Int NONE, at_least(0), ReadOnly,
        "The number of this node in its cluster; it stays with the data directory.";
    "process.roles" List NONE, LIST_OF(&["broker", "controller"]), ReadOnly,
        "What this node is: broker, controller, or both. A node of its own is broker,controller.";
    "unclean.leader.election.enable" Boolean "false", ANY, ClusterWide,
        "Whether a replica that is not in sync may lead when no other is left.";
}
