//! The cluster: its id and its brokers.

use wire::messages::describe_cluster::DescribeClusterRequest;

use crate::client::Client;
use crate::error::{BrokerError, ClientError};
use crate::metadata::Broker;

/// A cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterDescription {
    /// Its id.
    pub id: String,
    /// The broker that takes administrative requests.
    pub controller: Option<i32>,
    /// Its brokers, by ascending id.
    pub nodes: Vec<ClusterNode>,
}

/// A broker and whether it serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterNode {
    /// The broker.
    pub broker: Broker,
    /// Whether it is registered, but may not lead anything.
    pub is_fenced: bool,
}

impl Client {
    /// Describes the cluster, fenced brokers included.
    pub async fn describe_cluster(&self) -> Result<ClusterDescription, ClientError> {
        let request = DescribeClusterRequest {
            include_fenced_brokers: true,
            ..DescribeClusterRequest::default()
        };
        self.retry("describing the cluster", || async {
            let connection = self.to_any().await?;
            let response = connection.call(&request, self.config().request_timeout).await?;
            if let Some(error) =
                BrokerError::from_code(response.error_code, response.error_message.as_deref())
            {
                return Err(ClientError::broker("describing the cluster", error));
            }
            let mut nodes: Vec<ClusterNode> = response
                .brokers
                .into_iter()
                .map(|broker| ClusterNode {
                    broker: Broker {
                        id: broker.broker_id,
                        host: broker.host.to_string(),
                        port: broker.port,
                        rack: broker.rack.map(|rack| rack.to_string()),
                    },
                    is_fenced: broker.is_fenced,
                })
                .collect();
            nodes.sort_by_key(|node| node.broker.id);
            Ok(ClusterDescription {
                id: response.cluster_id.to_string(),
                controller: (response.controller_id >= 0).then_some(response.controller_id),
                nodes,
            })
        })
        .await
    }
}
