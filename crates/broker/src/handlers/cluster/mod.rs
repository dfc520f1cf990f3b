//! What a client asks about the cluster as a whole.

pub mod api_versions;
pub mod describe_cluster;
