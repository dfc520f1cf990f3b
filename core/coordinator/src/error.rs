//! Why a group refuses.

/// Why a request to a group was refused. The host maps each to one error code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GroupError {
    /// The group's name is empty, where that is not allowed, or too long.
    #[error("group id must have 1 to 1024 bytes")]
    InvalidGroupId,
    /// The session time-out lies outside what the broker allows.
    #[error("session timeout lies outside group.min.session.timeout.ms and group.max.session.timeout.ms")]
    InvalidSessionTimeout,
    /// No protocol that every member supports, or another type of protocol.
    #[error("the member shares no protocol with the group")]
    InconsistentProtocol,
    /// The group does not know the member, or the group does not exist.
    #[error("unknown member id")]
    UnknownMember,
    /// The member must come again with the id that the answer carries (KIP-394).
    #[error("the member must join again with the id it was given")]
    MemberIdRequired,
    /// The group, or the member's metadata, is as large as allowed.
    #[error("the group is full")]
    GroupFull,
    /// Another member now goes by the same `group.instance.id` (KIP-345).
    #[error("another member joined with the same group.instance.id")]
    FencedInstance,
    /// The request is of another generation than the group.
    #[error("the group is at another generation")]
    IllegalGeneration,
    /// The members are joining again.
    #[error("the group is rebalancing")]
    RebalanceInProgress,
    /// There is no such group.
    #[error("no such group")]
    GroupNotFound,
    /// This shard gave up its partition.
    #[error("this broker is no longer the coordinator")]
    NotCoordinator,
    /// What the request decided could not be made durable.
    #[error("the decision was not written: {0}")]
    Write(#[from] WriteError),
}

/// Why records did not get into the log, or not in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// This broker does not lead the partition any more.
    #[error("not the leader of the partition")]
    NotLeader,
    /// Fewer replicas are in sync than `min.insync.replicas` asks for.
    #[error("not enough replicas in sync")]
    NotEnoughReplicas,
    /// The records are written, but were not replicated in time. They may still take effect.
    #[error("not replicated in time")]
    TimedOut,
    /// The records do not fit into one batch.
    #[error("larger than max.message.bytes of the offsets topic")]
    TooLarge,
    /// The log directory failed.
    #[error("the log directory failed")]
    Storage,
}
