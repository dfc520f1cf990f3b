//! What can go wrong between this client and a cluster.

use std::sync::Arc;
use std::time::Duration;

use model::ErrorCode;
use wire::{DecodeError, EncodeError};

use crate::setting::SettingError;

/// An error that a broker answered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.text())]
pub struct BrokerError {
    /// The code.
    pub code: ErrorCode,
    /// What the broker says about it, where the API has room for that.
    pub message: Option<String>,
}

impl BrokerError {
    /// An error from its number on the wire; `None` for "no error". Numbers of later brokers become
    /// `UNKNOWN_SERVER_ERROR`, and the message keeps the number.
    pub fn from_code(code: i16, message: Option<&str>) -> Option<BrokerError> {
        let (code, message) = match ErrorCode::from_code(code) {
            Some(ErrorCode::None) => return None,
            Some(known) => (known, message.filter(|text| !text.is_empty()).map(str::to_owned)),
            None => (
                ErrorCode::UnknownServerError,
                Some(format!("error {code}, which this client does not know")),
            ),
        };
        Some(BrokerError { code, message })
    }

    /// `Ok` for "no error".
    pub(crate) fn check(code: i16, message: Option<&str>) -> Result<(), BrokerError> {
        BrokerError::from_code(code, message).map_or(Ok(()), Err)
    }

    fn text(&self) -> String {
        match &self.message {
            Some(message) => format!("{message} ({})", self.code),
            None => self.code.name().to_owned(),
        }
    }
}

impl From<ErrorCode> for BrokerError {
    fn from(code: ErrorCode) -> BrokerError {
        BrokerError { code, message: None }
    }
}

/// Why a call failed. Cheap to clone: one failure may be the answer to many records.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ClientError {
    /// No broker could be connected to.
    #[error("no broker answers: {0}; is one running there?")]
    Unreachable(Arc<str>),
    /// The connection ended, with requests on it unanswered.
    #[error("the connection to {address} ended: {reason}")]
    Disconnected {
        /// The broker's address.
        address: Arc<str>,
        /// Why.
        reason: Arc<str>,
    },
    /// An answer, or what was waited for, did not come in time.
    #[error("{what} took longer than {} ms", .after.as_millis())]
    TimedOut {
        /// What was waited for.
        what: Arc<str>,
        /// How long.
        after: Duration,
    },
    /// Broker and client have no version of an API in common.
    #[error("the broker at {address} does not serve {api} at a version this client speaks")]
    UnsupportedApi {
        /// The broker's address.
        address: Arc<str>,
        /// The API's name.
        api: &'static str,
    },
    /// A broker refused.
    #[error("{what}: {error}")]
    Broker {
        /// What was asked for.
        what: Arc<str>,
        /// The answer.
        error: BrokerError,
    },
    /// An answer that is not what the protocol says.
    #[error("{api} answered what cannot be read: {reason}")]
    Malformed {
        /// The API's name.
        api: &'static str,
        /// What is wrong.
        reason: Arc<str>,
    },
    /// A request that has no form on the wire.
    #[error("{api} cannot be sent: {error}")]
    Unencodable {
        /// The API's name.
        api: &'static str,
        /// What is wrong.
        error: EncodeError,
    },
    /// A record that no request can hold.
    #[error("a record of {bytes} bytes does not fit in a request of {limit} bytes; raise max.request.size")]
    RecordTooLarge {
        /// The record's size.
        bytes: usize,
        /// The largest request.
        limit: usize,
    },
    /// A setting that cannot be taken.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// A call that cannot succeed as things are: the text says what would be right.
    #[error("{0}")]
    Refused(Arc<str>),
    /// The producer or consumer was closed.
    #[error("already closed")]
    Closed,
}

impl ClientError {
    /// A refusal by a broker, with what was asked for.
    pub(crate) fn broker(what: impl AsRef<str>, error: BrokerError) -> ClientError {
        ClientError::Broker {
            what: what.as_ref().into(),
            error,
        }
    }

    pub(crate) fn malformed(api: &'static str, error: &DecodeError) -> ClientError {
        ClientError::Malformed {
            api,
            reason: error.to_string().into(),
        }
    }

    pub(crate) fn refused(text: impl AsRef<str>) -> ClientError {
        ClientError::Refused(text.as_ref().into())
    }

    /// The broker's code, where it was a broker that refused.
    pub fn code(&self) -> Option<ErrorCode> {
        match self {
            ClientError::Broker { error, .. } => Some(error.code),
            _ => None,
        }
    }

    /// Whether the same call may succeed a little later.
    pub fn is_retriable(&self) -> bool {
        match self {
            ClientError::Unreachable(_) | ClientError::Disconnected { .. } | ClientError::TimedOut { .. } => {
                true
            }
            ClientError::Broker { error, .. } => error.code.is_retriable(),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_from_a_later_broker_is_kept_in_the_message() {
        let error = BrokerError::from_code(9999, None).unwrap();
        assert_eq!(error.code, ErrorCode::UnknownServerError);
        assert!(error.to_string().contains("9999"));
        assert_eq!(BrokerError::from_code(0, Some("x")), None);
    }

    #[test]
    fn the_brokers_words_come_before_its_code() {
        let error = BrokerError::from_code(36, Some("Topic 't' already exists.")).unwrap();
        assert_eq!(
            error.to_string(),
            "Topic 't' already exists. (TOPIC_ALREADY_EXISTS)"
        );
        assert!(!ClientError::broker("create", error).is_retriable());
    }
}
