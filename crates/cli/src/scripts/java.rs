//! How Java names what a broker answers: the class of the exception, and its words where the broker sends none. Scripts
//! of users look for both.

use client::{BrokerError, ClientError};
use model::ErrorCode;

/// The class of the exception for a code.
fn class(code: ErrorCode) -> String {
    let irregular = match code {
        ErrorCode::TopicAlreadyExists => Some("TopicExists"),
        ErrorCode::NonEmptyGroup => Some("GroupNotEmpty"),
        ErrorCode::InvalidConfig => Some("InvalidConfiguration"),
        ErrorCode::InvalidTopicException => Some("InvalidTopic"),
        ErrorCode::RequestTimedOut => Some("Timeout"),
        ErrorCode::MessageTooLarge => Some("RecordTooLarge"),
        ErrorCode::RecordListTooLarge => Some("RecordBatchTooLarge"),
        ErrorCode::UnknownServerError => Some("UnknownServer"),
        ErrorCode::NetworkException => Some("Network"),
        ErrorCode::CoordinatorLoadInProgress => Some("CoordinatorLoadInProgress"),
        ErrorCode::GroupSubscribedToTopic => Some("GroupSubscribedToTopic"),
        _ => None,
    };
    let name = irregular.map_or_else(|| format!("{code:?}"), str::to_owned);
    format!("org.apache.kafka.common.errors.{name}Exception")
}

/// The words for a code when the broker sends none.
fn default_message(code: ErrorCode) -> String {
    match code {
        ErrorCode::GroupIdNotFound => "The group id does not exist.".to_owned(),
        ErrorCode::NonEmptyGroup => "The group is not empty.".to_owned(),
        ErrorCode::UnknownTopicOrPartition => "This server does not host this topic-partition.".to_owned(),
        ErrorCode::GroupSubscribedToTopic => "The consumer group is actively subscribed to it.".to_owned(),
        _ => code.name().to_owned(),
    }
}

/// What the broker says about an error, or Java in its place.
pub(super) fn message(error: &BrokerError) -> String {
    error
        .message
        .clone()
        .unwrap_or_else(|| default_message(error.code))
}

/// An error as Java prints an exception: class, colon, message.
pub(super) fn exception(error: &BrokerError) -> String {
    format!("{}: {}", class(error.code), message(error))
}

/// The same for any error of a call.
pub(super) fn exception_of(error: &ClientError) -> String {
    match error {
        ClientError::Broker { error, .. } => exception(error),
        ClientError::TimedOut { .. } | ClientError::Unreachable(_) => {
            format!("org.apache.kafka.common.errors.TimeoutException: {error}")
        }
        ClientError::UnsupportedApi { api, .. } => format!(
            "org.apache.kafka.common.errors.UnsupportedVersionException: The node does not support {}",
            screaming_snake_case(api)
        ),
        other => format!("org.apache.kafka.common.KafkaException: {other}"),
    }
}

fn screaming_snake_case(name: &str) -> String {
    let mut out = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !out.is_empty() {
            out.push('_');
        }
        out.push(letter.to_ascii_uppercase());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exceptions_have_javas_names() {
        for (code, expected) in [
            (ErrorCode::TopicAlreadyExists, "TopicExistsException"),
            (
                ErrorCode::InvalidReplicationFactor,
                "InvalidReplicationFactorException",
            ),
            (
                ErrorCode::NonEmptyGroup,
                "GroupNotEmptyException: The group is not empty.",
            ),
        ] {
            let text = exception(&code.into());
            assert!(
                text.starts_with(&format!("org.apache.kafka.common.errors.{expected}")),
                "{text}"
            );
        }
    }
}
