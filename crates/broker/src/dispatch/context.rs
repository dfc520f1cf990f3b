//! What a handler knows about the request beside its body.

use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};

use wire::Str;

use super::listener::ListenerInfo;

/// One request's circumstances. Cheap to clone, for work that outlives the call; but `client_id` is a slice of the
/// received frame: copy it out before keeping it.
#[derive(Clone, Debug)]
pub struct RequestContext {
    /// The version of the request, and of its response.
    pub api_version: i16,
    /// The number that ties the response to the request.
    pub correlation_id: i32,
    /// The name the client gives itself; null and empty are both allowed (bad input 42).
    pub client_id: Option<Str>,
    /// The connection it came on.
    pub connection: Arc<ConnectionInfo>,
}

impl RequestContext {
    /// The client's name, empty when it gave none.
    pub fn client_id(&self) -> &str {
        self.client_id.as_deref().unwrap_or_default()
    }

    /// The client's address in the form that group descriptions show: `/127.0.0.1`.
    pub fn client_host(&self) -> String {
        format!("/{}", self.connection.peer.ip())
    }

    /// Who asks.
    pub fn principal(&self) -> &str {
        &self.connection.principal
    }

    /// The listener it came through.
    pub fn listener(&self) -> &ListenerInfo {
        &self.connection.listener
    }

    /// A request of some client, for tests of handlers.
    #[cfg(test)]
    pub(crate) fn for_test(api_version: i16) -> RequestContext {
        let address = SocketAddr::from(([127, 0, 0, 1], 9092));
        RequestContext {
            api_version,
            correlation_id: 7,
            client_id: Some("test-client".into()),
            connection: Arc::new(ConnectionInfo {
                id: 1,
                peer: SocketAddr::from(([127, 0, 0, 1], 40_000)),
                listener: Arc::new(ListenerInfo {
                    name: "PLAINTEXT".to_owned(),
                    used_by: crate::config::ListenerUse::Broker,
                    address,
                }),
                principal: ANONYMOUS.into(),
                software: OnceLock::new(),
            }),
        }
    }
}

/// One connection's circumstances.
#[derive(Debug)]
pub struct ConnectionInfo {
    /// Unique in the life of the process.
    pub id: u64,
    /// The client's address.
    pub peer: SocketAddr,
    /// The listener that accepted it.
    pub listener: Arc<ListenerInfo>,
    /// Who the client is, in Kafka's form. Nobody has to say so on a plaintext listener.
    pub principal: Arc<str>,
    /// What the client said about itself in ApiVersions, when it did (KIP-511).
    pub software: OnceLock<ClientSoftware>,
}

/// A client's library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientSoftware {
    /// Its name, such as `librdkafka`.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// The principal of connections that did not authenticate.
pub const ANONYMOUS: &str = "User:ANONYMOUS";

#[cfg(test)]
mod tests {
    use super::RequestContext;

    #[test]
    fn a_client_is_shown_by_its_name_and_by_its_address_as_java_prints_it() {
        let mut context = RequestContext::for_test(0);
        assert_eq!(
            (context.client_id(), &*context.client_host()),
            ("test-client", "/127.0.0.1")
        );
        context.client_id = None;
        assert_eq!(context.client_id(), "");
    }
}
