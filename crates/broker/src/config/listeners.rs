//! Listeners: what a node binds, and the addresses it tells clients.

use model::config::ConfigError;
use std::collections::BTreeMap;
use std::fmt;

/// How a connection is secured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecurityProtocol {
    /// Neither encrypted nor authenticated.
    Plaintext,
    /// TLS.
    Ssl,
    /// SASL without encryption.
    SaslPlaintext,
    /// SASL over TLS.
    SaslSsl,
}

impl SecurityProtocol {
    /// The number in metadata records.
    pub fn id(self) -> i16 {
        match self {
            SecurityProtocol::Plaintext => 0,
            SecurityProtocol::Ssl => 1,
            SecurityProtocol::SaslPlaintext => 2,
            SecurityProtocol::SaslSsl => 3,
        }
    }

    fn from_name(name: &str) -> Option<SecurityProtocol> {
        Some(match name {
            "PLAINTEXT" => SecurityProtocol::Plaintext,
            "SSL" => SecurityProtocol::Ssl,
            "SASL_PLAINTEXT" => SecurityProtocol::SaslPlaintext,
            "SASL_SSL" => SecurityProtocol::SaslSsl,
            _ => return None,
        })
    }
}

/// An address under a listener's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// The listener's name, in capitals.
    pub name: String,
    /// The host; empty for every interface.
    pub host: String,
    /// The port; 0 lets the system choose.
    pub port: u16,
}

/// Who connects to a listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListenerUse {
    /// Clients and brokers.
    Broker,
    /// Controllers, and brokers that speak to the controller.
    Controller,
}

/// A listener to bind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listener {
    /// Its name and where it binds.
    pub endpoint: Endpoint,
    /// How its connections are secured.
    pub protocol: SecurityProtocol,
    /// Who connects to it.
    pub used_by: ListenerUse,
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "{}://[{}]:{}", self.name, self.host, self.port)
        } else {
            write!(f, "{}://{}:{}", self.name, self.host, self.port)
        }
    }
}

/// What the keys about listeners say, as texts.
pub(super) struct Texts {
    pub(super) listeners: Vec<String>,
    pub(super) advertised: Option<Vec<String>>,
    pub(super) protocol_map: String,
    pub(super) controller_names: Vec<String>,
}

/// The listeners to bind and the endpoints to advertise.
pub(super) struct Listeners {
    pub(super) bound: Vec<Listener>,
    pub(super) advertised: Vec<Endpoint>,
}

pub(super) fn invalid(key: &str, value: &str, expected: impl Into<String>) -> ConfigError {
    ConfigError::Invalid {
        key: key.to_owned(),
        value: value.to_owned(),
        expected: expected.into(),
    }
}

impl Listeners {
    pub(super) fn read(texts: &Texts, host_name: impl Fn() -> String) -> Result<Listeners, ConfigError> {
        let protocols = protocol_map(&texts.protocol_map, &texts.controller_names)?;
        let mut bound: Vec<Listener> = Vec::new();
        for text in &texts.listeners {
            let endpoint = endpoint("listeners", text)?;
            if bound.iter().any(|other| other.endpoint.name == endpoint.name) {
                return Err(invalid(
                    "listeners",
                    text,
                    format!("the name {} is used twice", endpoint.name),
                ));
            }
            if endpoint.port != 0 && bound.iter().any(|other| collide(&other.endpoint, &endpoint)) {
                return Err(invalid(
                    "listeners",
                    text,
                    format!("the port {} is used twice", endpoint.port),
                ));
            }
            bound.push(Listener {
                protocol: protocol_of(&endpoint, text, &protocols)?,
                used_by: if texts.controller_names.contains(&endpoint.name) {
                    ListenerUse::Controller
                } else {
                    ListenerUse::Broker
                },
                endpoint,
            });
        }
        for name in &texts.controller_names {
            if !bound.iter().any(|listener| listener.endpoint.name == *name) {
                return Err(invalid(
                    "controller.listener.names",
                    name,
                    "each must be one of the listeners",
                ));
            }
        }
        if !bound
            .iter()
            .any(|listener| listener.used_by == ListenerUse::Broker)
        {
            return Err(invalid(
                "listeners",
                &texts.listeners.join(","),
                "at least one must not be in controller.listener.names, so that clients have one",
            ));
        }
        let advertised = advertised(texts, &bound, host_name)?;
        Ok(Listeners { bound, advertised })
    }
}

/// Two listeners cannot share a port, unless one is bound to an address of IPv4 and the other to one of IPv6.
fn collide(a: &Endpoint, b: &Endpoint) -> bool {
    let is_ip = |endpoint: &Endpoint| endpoint.host.parse::<std::net::IpAddr>().ok();
    a.port == b.port
        && match (is_ip(a), is_ip(b)) {
            (Some(one), Some(other)) => one.is_ipv4() == other.is_ipv4(),
            _ => true,
        }
}

fn protocol_map(
    text: &str,
    controller_names: &[String],
) -> Result<BTreeMap<String, SecurityProtocol>, ConfigError> {
    const KEY: &str = "listener.security.protocol.map";
    let mut protocols = BTreeMap::new();
    for item in text.split(',').map(str::trim).filter(|item| !item.is_empty()) {
        let (name, protocol) = item
            .split_once(':')
            .ok_or_else(|| invalid(KEY, item, "each item must be NAME:PROTOCOL"))?;
        let protocol = SecurityProtocol::from_name(protocol.trim()).ok_or_else(|| {
            invalid(
                KEY,
                item,
                "a protocol is PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL",
            )
        })?;
        protocols.insert(name.trim().to_uppercase(), protocol);
    }
    for name in controller_names {
        protocols
            .entry(name.clone())
            .or_insert(SecurityProtocol::Plaintext);
    }
    Ok(protocols)
}

fn protocol_of(
    endpoint: &Endpoint,
    text: &str,
    protocols: &BTreeMap<String, SecurityProtocol>,
) -> Result<SecurityProtocol, ConfigError> {
    match protocols.get(&endpoint.name) {
        Some(SecurityProtocol::Plaintext) => Ok(SecurityProtocol::Plaintext),
        Some(_) => Err(invalid(
            "listeners",
            text,
            "this version serves PLAINTEXT listeners only",
        )),
        None => Err(invalid(
            "listeners",
            text,
            format!(
                "listener.security.protocol.map must say which protocol {} is",
                endpoint.name
            ),
        )),
    }
}

fn advertised(
    texts: &Texts,
    bound: &[Listener],
    host_name: impl Fn() -> String,
) -> Result<Vec<Endpoint>, ConfigError> {
    const KEY: &str = "advertised.listeners";
    let serves_clients = |name: &str| {
        bound
            .iter()
            .any(|listener| listener.endpoint.name == name && listener.used_by == ListenerUse::Broker)
    };
    let mut endpoints = match &texts.advertised {
        Some(given) => given
            .iter()
            .map(|text| endpoint(KEY, text))
            .collect::<Result<Vec<_>, _>>()?,
        None => bound.iter().map(|listener| listener.endpoint.clone()).collect(),
    };
    if texts.advertised.is_some()
        && let Some(stranger) = endpoints.iter().find(|endpoint| {
            !bound
                .iter()
                .any(|listener| listener.endpoint.name == endpoint.name)
        })
    {
        return Err(invalid(
            KEY,
            &stranger.to_string(),
            "its name must be one of the listeners",
        ));
    }
    endpoints.retain(|endpoint| serves_clients(&endpoint.name));
    for endpoint in &mut endpoints {
        if endpoint.host == "0.0.0.0" || endpoint.host == "::" {
            return Err(invalid(
                KEY,
                &endpoint.to_string(),
                "clients cannot connect to that address; name one that they can reach",
            ));
        }
        if endpoint.host.is_empty() {
            endpoint.host = host_name();
        }
    }
    Ok(endpoints)
}

/// Reads `NAME://host:port`.
fn endpoint(key: &str, text: &str) -> Result<Endpoint, ConfigError> {
    let wrong = || {
        invalid(
            key,
            text,
            "it must be NAME://host:port with a port of 65535 at most, as in PLAINTEXT://localhost:9092",
        )
    };
    let (name, address) = text.split_once("://").ok_or_else(wrong)?;
    let (host, port) = address.rsplit_once(':').ok_or_else(wrong)?;
    let host = match host.strip_prefix('[') {
        Some(rest) => rest.strip_suffix(']').ok_or_else(wrong)?,
        None if host.contains(':') => return Err(wrong()),
        None => host,
    };
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    if name.is_empty() || !name.chars().all(is_word) || host.chars().any(char::is_whitespace) {
        return Err(wrong());
    }
    Ok(Endpoint {
        name: name.to_uppercase(),
        host: host.to_owned(),
        port: port.parse().map_err(|_| wrong())?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(listeners: &[&str], advertised: Option<&[&str]>) -> Texts {
        let owned = |items: &[&str]| items.iter().map(|item| (*item).to_owned()).collect::<Vec<_>>();
        Texts {
            listeners: owned(listeners),
            advertised: advertised.map(owned),
            protocol_map: "PLAINTEXT:PLAINTEXT,INSIDE:PLAINTEXT,SAFE:SSL".to_owned(),
            controller_names: vec!["CONTROLLER".to_owned()],
        }
    }

    fn read(listeners: &[&str], advertised: Option<&[&str]>) -> Result<Listeners, String> {
        Listeners::read(&texts(listeners, advertised), || "this-host".to_owned())
            .map_err(|error| error.to_string())
    }

    fn advertised_of(listeners: &[&str], advertised: Option<&[&str]>) -> Vec<String> {
        let listeners = read(listeners, advertised).unwrap();
        listeners.advertised.iter().map(ToString::to_string).collect()
    }

    const CONTROLLER: &str = "CONTROLLER://:9093";

    #[test]
    fn listeners_are_advertised_without_the_controllers() {
        assert_eq!(
            advertised_of(&["plaintext://:9092", "INSIDE://[::1]:9094", CONTROLLER], None),
            ["PLAINTEXT://this-host:9092", "INSIDE://[::1]:9094"]
        );
        assert_eq!(
            advertised_of(
                &["PLAINTEXT://0.0.0.0:9092", CONTROLLER],
                Some(&["PLAINTEXT://broker.example:19092"])
            ),
            ["PLAINTEXT://broker.example:19092"]
        );
    }

    #[test]
    fn wrong_listeners_are_refused_with_what_would_be_right() {
        type Case<'a> = (&'a [&'a str], Option<&'a [&'a str]>, &'a str);
        let cases: &[Case<'_>] = &[
            (&["PLAINTEXT:9092", CONTROLLER], None, "NAME://host:port"),
            (&["PLAINTEXT://:port", CONTROLLER], None, "NAME://host:port"),
            (&["PLAINTEXT://::1:9092", CONTROLLER], None, "NAME://host:port"),
            (&["PLAINTEXT://:99999", CONTROLLER], None, "NAME://host:port"),
            (
                &["PLAINTEXT://:1", "PLAINTEXT://:2", CONTROLLER],
                None,
                "used twice",
            ),
            (
                &["PLAINTEXT://:1", "INSIDE://:1", CONTROLLER],
                None,
                "port 1 is used twice",
            ),
            (
                &["OTHER://:1", CONTROLLER],
                None,
                "listener.security.protocol.map must say",
            ),
            (&["SAFE://:1", CONTROLLER], None, "PLAINTEXT listeners only"),
            (&[CONTROLLER], None, "so that clients have one"),
            (&["PLAINTEXT://:1"], None, "one of the listeners"),
            (
                &["PLAINTEXT://0.0.0.0:1", CONTROLLER],
                None,
                "clients cannot connect",
            ),
            (
                &["PLAINTEXT://:1", CONTROLLER],
                Some(&["INSIDE://h:1"]),
                "one of the listeners",
            ),
        ];
        for (listeners, advertised, expected) in cases {
            let error = read(listeners, *advertised).map(|_| ()).unwrap_err();
            assert!(error.contains(expected), "{listeners:?}: {error}");
        }
    }

    #[test]
    fn one_port_serves_an_address_of_each_family() {
        assert!(read(&["PLAINTEXT://127.0.0.1:1", "INSIDE://[::1]:1", CONTROLLER], None).is_ok());
    }
}
