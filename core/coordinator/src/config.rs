//! What an operator can set about groups. The names and defaults of the keys stand in `model::config`.

/// The limits and time-outs of groups and offsets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupConfig {
    /// `group.min.session.timeout.ms`.
    pub min_session_timeout_ms: i32,
    /// `group.max.session.timeout.ms`.
    pub max_session_timeout_ms: i32,
    /// `group.initial.rebalance.delay.ms`.
    pub initial_rebalance_delay_ms: i32,
    /// How long a new member that never heard back may hold up its group.
    pub new_member_join_timeout_ms: i32,
    /// `group.max.size`, at most [`GroupConfig::MAX_MEMBERS`] unless the operator says otherwise.
    pub max_members: usize,
    /// The most metadata of one member, over all its protocols, in bytes.
    pub max_member_metadata_bytes: usize,
    /// The most metadata of all members of one group, in bytes.
    pub max_group_metadata_bytes: usize,
    /// `offset.metadata.max.bytes`; like Kafka, counted in UTF-16 units.
    pub max_offset_metadata_units: usize,
    /// `offsets.retention.minutes`, in milliseconds.
    pub offsets_retention_ms: i64,
    /// `offsets.retention.check.interval.ms`.
    pub offsets_retention_check_interval_ms: i64,
    /// `offsets.commit.timeout.ms`: how long a write may stay uncommitted before its answer is an error.
    pub commit_timeout_ms: i32,
}

impl GroupConfig {
    /// Members of one group unless `group.max.size` is set (bad input, row 45).
    pub const MAX_MEMBERS: usize = 5_000;
    /// Bytes of a group's name.
    pub const MAX_GROUP_ID_BYTES: usize = 1_024;
}

impl Default for GroupConfig {
    fn default() -> GroupConfig {
        GroupConfig {
            min_session_timeout_ms: 6_000,
            max_session_timeout_ms: 1_800_000,
            initial_rebalance_delay_ms: 3_000,
            new_member_join_timeout_ms: 300_000,
            max_members: GroupConfig::MAX_MEMBERS,
            max_member_metadata_bytes: 256 * 1024,
            max_group_metadata_bytes: 64 * 1024 * 1024,
            max_offset_metadata_units: 4_096,
            offsets_retention_ms: 10_080 * 60_000,
            offsets_retention_check_interval_ms: 600_000,
            commit_timeout_ms: 5_000,
        }
    }
}
