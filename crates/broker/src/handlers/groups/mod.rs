//! What members of groups, and those who look at them, ask. The rules stand in the crate `coordinator`; here requests
//! are translated, and errors become codes.

pub mod describe_groups;
pub mod find_coordinator;
pub mod heartbeat;
pub mod join_group;
pub mod leave_group;
pub mod list_groups;
pub mod offset_commit;
pub mod offset_fetch;
pub mod sync_group;

use std::sync::Arc;

use coordinator::{Answer, GroupError, GroupShard, Now, Step, WriteError};
use model::ErrorCode;
use tokio::sync::oneshot;
use wire::Str;

use crate::coordinators::Waiter;
use crate::dispatch::{Node, Reply};

/// The error code of a refusal.
pub(crate) fn code(error: GroupError) -> ErrorCode {
    match error {
        GroupError::InvalidGroupId => ErrorCode::InvalidGroupId,
        GroupError::InvalidSessionTimeout => ErrorCode::InvalidSessionTimeout,
        GroupError::InconsistentProtocol => ErrorCode::InconsistentGroupProtocol,
        GroupError::UnknownMember => ErrorCode::UnknownMemberId,
        GroupError::MemberIdRequired => ErrorCode::MemberIdRequired,
        GroupError::GroupFull => ErrorCode::GroupMaxSizeReached,
        GroupError::FencedInstance => ErrorCode::FencedInstanceId,
        GroupError::IllegalGeneration => ErrorCode::IllegalGeneration,
        GroupError::RebalanceInProgress => ErrorCode::RebalanceInProgress,
        GroupError::GroupNotFound => ErrorCode::GroupIdNotFound,
        GroupError::NotCoordinator => ErrorCode::NotCoordinator,
        GroupError::Write(error) => match error {
            WriteError::NotLeader | WriteError::Storage => ErrorCode::NotCoordinator,
            WriteError::NotEnoughReplicas | WriteError::TimedOut => ErrorCode::CoordinatorNotAvailable,
            WriteError::TooLarge => ErrorCode::UnknownServerError,
        },
    }
}

/// Brings a request to its group's shard. `respond` makes a response of the answer, or of the code of an error.
fn ask<R: Send + 'static>(
    node: &Arc<Node>,
    group: &str,
    decide: impl FnOnce(&mut GroupShard<Waiter>, Now, Waiter) -> Step<Waiter>,
    respond: impl FnOnce(Result<Answer, ErrorCode>) -> R + Clone + Send + 'static,
) -> Reply<R> {
    let (sender, receiver) = oneshot::channel();
    let answered = respond.clone();
    let waiter = Waiter::new(move |answer| {
        // A connection that is gone waits for nothing.
        let _ = sender.send(answered(Ok(answer)));
    });
    match node.groups.decide(group, |shard, now| decide(shard, now, waiter)) {
        Ok(()) => Reply::Later(receiver),
        Err(unavailable) => Reply::Now(respond(Err(unavailable.code()))),
    }
}

/// A text of a request in memory of its own: the request's is a slice of the frame.
fn own(text: &Str) -> Arc<str> {
    Arc::from(&**text)
}

fn own_some(text: &Option<Str>) -> Option<Arc<str>> {
    text.as_ref().map(own)
}

fn text(text: &Arc<str>) -> Str {
    Str::from(&**text)
}

/// What a shard answers to another request than it was asked: an error of ours.
const MISMATCH: ErrorCode = ErrorCode::UnknownServerError;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_that_fail_are_told_as_kafka_tells_them() {
        let told = [
            (WriteError::NotLeader, ErrorCode::NotCoordinator),
            (WriteError::Storage, ErrorCode::NotCoordinator),
            (WriteError::NotEnoughReplicas, ErrorCode::CoordinatorNotAvailable),
            (WriteError::TimedOut, ErrorCode::CoordinatorNotAvailable),
            (WriteError::TooLarge, ErrorCode::UnknownServerError),
        ];
        for (error, expected) in told {
            assert_eq!(code(GroupError::Write(error)), expected, "{error}");
        }
    }
}
