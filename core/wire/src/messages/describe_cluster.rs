//! The messages of `DescribeCluster`, API key 60.

use wire_derive::{Fields, Message};

use crate::Str;

/// Asks to know the brokers and the id of the cluster.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = DescribeCluster, versions = "0-2", flexible = "0+")]
pub struct DescribeClusterRequest {
    pub include_cluster_authorized_operations: bool,
    #[wire(versions = "1+", default = 1)]
    pub endpoint_type: i8,
    #[wire(versions = "2+")]
    pub include_fenced_brokers: bool,
}

/// Answers [`DescribeClusterRequest`]: the cluster.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "0-2", flexible = "0+")]
pub struct DescribeClusterResponse {
    pub throttle_time_ms: i32,
    pub error_code: i16,
    pub error_message: Option<Str>,
    #[wire(versions = "1+", default = 1)]
    pub endpoint_type: i8,
    pub cluster_id: Str,
    #[wire(default = -1)]
    pub controller_id: i32,
    pub brokers: Vec<DescribeClusterBroker>,
    #[wire(default = i32::MIN)]
    pub cluster_authorized_operations: i32,
}

/// An element of [`DescribeClusterResponse::brokers`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct DescribeClusterBroker {
    pub broker_id: i32,
    pub host: Str,
    pub port: i32,
    pub rack: Option<Str>,
    #[wire(versions = "2+")]
    pub is_fenced: bool,
}
