//! Fetch sessions (KIP-227), the client's half: the broker remembers what is fetched, requests name only what changed.

use std::collections::BTreeMap;

use model::{TopicPartition, Uuid};

/// How a partition is fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) topic_id: Uuid,
    pub(crate) offset: i64,
    pub(crate) leader_epoch: i32,
}

/// What a request must say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SessionRequest {
    pub(crate) id: i32,
    pub(crate) epoch: i32,
    pub(crate) fetch: BTreeMap<TopicPartition, Wanted>,
    pub(crate) forget: Vec<(TopicPartition, Uuid)>,
}

/// The session with one broker.
#[derive(Debug, Default)]
pub(crate) struct FetchSession {
    id: i32,
    epoch: i32,
    known: BTreeMap<TopicPartition, Wanted>,
}

impl FetchSession {
    /// What to say so that exactly `wanted` is fetched.
    pub(crate) fn request(&mut self, wanted: BTreeMap<TopicPartition, Wanted>) -> SessionRequest {
        // A session names topics either by id or by name; a topic of another id is another topic.
        let has_ids = |partitions: &BTreeMap<TopicPartition, Wanted>| {
            partitions.values().all(|w| !w.topic_id.is_zero())
        };
        if self.epoch == 0 || has_ids(&self.known) != has_ids(&wanted) {
            self.epoch = 0;
            self.known = wanted.clone();
            return SessionRequest {
                id: self.id,
                epoch: 0,
                fetch: wanted,
                forget: Vec::new(),
            };
        }
        let is_gone = |partition: &TopicPartition, known: &Wanted| {
            wanted
                .get(partition)
                .is_none_or(|now| now.topic_id != known.topic_id)
        };
        let forget = self
            .known
            .iter()
            .filter(|(partition, known)| is_gone(partition, known))
            .map(|(partition, known)| (partition.clone(), known.topic_id));
        let request = SessionRequest {
            id: self.id,
            epoch: self.epoch,
            forget: forget.collect(),
            fetch: wanted
                .iter()
                .filter(|(partition, now)| self.known.get(*partition) != Some(*now))
                .map(|(partition, now)| (partition.clone(), *now))
                .collect(),
        };
        self.known = wanted;
        request
    }

    /// The broker answered, and named the session; 0 when it keeps none.
    pub(crate) fn succeeded(&mut self, id: i32) {
        if id == 0 {
            *self = FetchSession::default();
            return;
        }
        self.id = id;
        self.epoch = if self.epoch == i32::MAX { 1 } else { self.epoch + 1 };
    }

    /// The request failed: the next one begins a session anew, and ends the old one where the broker still has it.
    pub(crate) fn failed(&mut self) {
        self.epoch = 0;
    }

    /// The broker does not know the session.
    pub(crate) fn unknown(&mut self) {
        *self = FetchSession::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(offsets: &[(i32, i64)]) -> BTreeMap<TopicPartition, Wanted> {
        let one = |(partition, offset): &(i32, i64)| {
            let wanted = Wanted {
                topic_id: Uuid([1; 16]),
                offset: *offset,
                leader_epoch: 0,
            };
            (TopicPartition::new("t", *partition), wanted)
        };
        offsets.iter().map(one).collect()
    }

    fn fetched(request: &SessionRequest) -> Vec<i32> {
        request
            .fetch
            .keys()
            .map(|partition| partition.partition)
            .collect()
    }

    #[test]
    fn only_changes_are_sent_once_there_is_a_session() {
        let mut session = FetchSession::default();
        let first = session.request(wanted(&[(0, 0), (1, 0), (2, 0)]));
        assert_eq!((first.id, first.epoch, fetched(&first)), (0, 0, vec![0, 1, 2]));
        session.succeeded(77);
        let second = session.request(wanted(&[(0, 5), (1, 0), (3, 0)]));
        assert_eq!((second.id, second.epoch, fetched(&second)), (77, 1, vec![0, 3]));
        assert_eq!(second.forget, [(TopicPartition::new("t", 2), Uuid([1; 16]))]);
        session.succeeded(77);
        let third = session.request(wanted(&[(0, 5), (1, 0), (3, 0)]));
        assert_eq!((third.epoch, fetched(&third), third.forget.len()), (2, vec![], 0));
    }

    #[test]
    fn after_a_failure_everything_is_sent_and_the_old_session_is_named() {
        let mut session = FetchSession::default();
        session.request(wanted(&[(0, 0)]));
        session.succeeded(77);
        session.failed();
        let request = session.request(wanted(&[(0, 0)]));
        assert_eq!((request.id, request.epoch, fetched(&request)), (77, 0, vec![0]));
        session.unknown();
        assert_eq!(session.request(wanted(&[(0, 0)])).id, 0);
    }

    #[test]
    fn a_topic_made_anew_is_forgotten_and_fetched() {
        let mut session = FetchSession::default();
        session.request(wanted(&[(0, 9)]));
        session.succeeded(77);
        let mut anew = wanted(&[(0, 9)]);
        anew.values_mut()
            .for_each(|wanted| wanted.topic_id = Uuid([2; 16]));
        let request = session.request(anew);
        assert_eq!(request.forget, [(TopicPartition::new("t", 0), Uuid([1; 16]))]);
        assert_eq!(fetched(&request), [0]);
    }

    #[test]
    fn a_broker_that_keeps_no_session_is_told_everything_each_time() {
        let mut session = FetchSession::default();
        for _ in 0..2 {
            let request = session.request(wanted(&[(0, 0)]));
            assert_eq!((request.id, request.epoch, fetched(&request)), (0, 0, vec![0]));
            session.succeeded(0);
        }
    }
}
