//! An idempotent producer with up to five batches under way, all to one partition. After a lost connection it sends
//! again, in order, what was not acknowledged.

use std::collections::VecDeque;

use bytes::Bytes;
use model::{Offset, ProducerEpoch, ProducerId, TopicPartition};
use replication::ProduceOutcome;
use storage::Random;
use wire::records::{BatchBuilder, Producer as ProducerFields};

use crate::history::{History, RecordNumber, Violation, must};
use crate::node::{Halt, Node, Produced};

/// `max.in.flight.requests.per.connection` of an idempotent producer.
const IN_FLIGHT: usize = 5;

/// A batch that is not acknowledged yet.
struct Sent {
    token: u64,
    bytes: Bytes,
    numbers: Vec<RecordNumber>,
    /// Where this connection was told it would be; `None` when it has to be sent again.
    first: Option<Offset>,
}

/// See the module.
pub(crate) struct Producer {
    number: u64,
    tp: TopicPartition,
    id: Option<ProducerId>,
    sequence: i32,
    next_index: u64,
    next_token: u64,
    in_flight: VecDeque<Sent>,
}

impl Producer {
    pub(crate) fn new(number: u64, topic: &str, partition: i32) -> Producer {
        Producer {
            number,
            tp: TopicPartition::new(topic, partition),
            id: None,
            sequence: 0,
            next_index: 0,
            next_token: number << 32,
            in_flight: VecDeque::new(),
        }
    }

    /// Where it writes.
    pub(crate) fn topic_partition(&self) -> &TopicPartition {
        &self.tp
    }

    /// The number of its next record.
    pub(crate) fn next(&self) -> RecordNumber {
        RecordNumber {
            producer: self.number,
            index: self.next_index,
        }
    }

    /// Its topic is deleted: what is under way does not matter any more.
    pub(crate) fn forget(&mut self) {
        self.in_flight.clear();
    }

    /// Whether everything it sent is acknowledged.
    pub(crate) fn is_idle(&self) -> bool {
        self.in_flight.is_empty()
    }

    /// The connection is gone: nothing that was under way will be answered.
    pub(crate) fn disconnect(&mut self) {
        self.in_flight.iter_mut().for_each(|sent| sent.first = None);
    }

    /// Sends what has to be sent again, else something new.
    pub(crate) fn act(
        &mut self,
        node: &mut Node,
        history: &mut History,
        random: &mut Random,
        now_ms: i64,
    ) -> Result<(), Fault> {
        let id = match self.id {
            Some(id) => id,
            None => {
                let id = node.new_producer_id(now_ms)?;
                history.producer_id_given(id.0)?;
                *self.id.insert(id)
            }
        };
        if node.topic_id(&self.tp.topic).is_none() {
            return Ok(());
        }
        if self.resend(node, history, now_ms)? || self.in_flight.len() >= IN_FLIGHT {
            return Ok(());
        }
        let sent = self.new_batch(id, random, now_ms);
        self.in_flight.push_back(sent);
        let last = self.in_flight.len() - 1;
        self.send(last, node, history, now_ms)
    }

    /// Sends again, all in order; whether there was anything.
    pub(crate) fn resend(
        &mut self,
        node: &mut Node,
        history: &mut History,
        now_ms: i64,
    ) -> Result<bool, Fault> {
        let mut any = false;
        if node.topic_id(&self.tp.topic).is_none() {
            // The deletion was not answered, but it happened.
            self.forget();
            return Ok(any);
        }
        while let Some(at) = self.in_flight.iter().position(|sent| sent.first.is_none()) {
            any = true;
            self.send(at, node, history, now_ms)?;
        }
        Ok(any)
    }

    fn new_batch(&mut self, id: ProducerId, random: &mut Random, now_ms: i64) -> Sent {
        let fields = ProducerFields {
            id,
            epoch: ProducerEpoch(0),
            base_sequence: self.sequence,
        };
        let mut builder = BatchBuilder::new().with_producer(fields);
        let mut numbers = Vec::new();
        for _ in 0..random.between(1, 4) {
            let number = RecordNumber {
                producer: self.number,
                index: self.next_index,
            };
            let value = value_of(number, random.below(200));
            builder
                .append(now_ms, Some(b"key"), Some(&value), &[])
                .expect("a small record fits");
            numbers.push(number);
            self.next_index += 1;
            self.sequence += 1;
        }
        let token = self.next_token;
        self.next_token += 1;
        let bytes = builder.build().expect("the batch is not empty");
        Sent {
            token,
            bytes,
            numbers,
            first: None,
        }
    }

    fn send(&mut self, at: usize, node: &mut Node, history: &mut History, now_ms: i64) -> Result<(), Fault> {
        let Some(sent) = self.in_flight.get_mut(at) else {
            return Ok(());
        };
        match node.produce(&self.tp, &sent.bytes, sent.token, now_ms)? {
            Produced::Waits(first) => sent.first = Some(first),
            Produced::Done(first) => {
                sent.first = Some(first);
                history.acknowledge(&self.tp, first, &sent.numbers)?;
                let token = sent.token;
                self.in_flight.retain(|sent| sent.token != token);
            }
            Produced::Refused(refused) => {
                return Err(Violation(format!("{} refused {:?}: {refused}", self.tp, sent.numbers)).into());
            }
        }
        Ok(())
    }

    /// A produce that waited has ended.
    pub(crate) fn hear(
        &mut self,
        token: u64,
        outcome: ProduceOutcome,
        history: &mut History,
    ) -> Result<(), Violation> {
        let Some(at) = self.in_flight.iter().position(|sent| sent.token == token) else {
            return Ok(());
        };
        let Some(sent) = self.in_flight.remove(at) else {
            return Ok(());
        };
        must!(
            outcome == ProduceOutcome::Replicated,
            "{} ended a produce as {outcome:?}",
            self.tp
        );
        let Some(first) = sent.first else { return Ok(()) };
        history.acknowledge(&self.tp, first, &sent.numbers)
    }
}

fn value_of(number: RecordNumber, padding: u64) -> Vec<u8> {
    let mut value = [number.producer.to_be_bytes(), number.index.to_be_bytes()].concat();
    value.extend((0..padding).map(|at| at.to_le_bytes()[0]));
    value
}

/// The number in a record's value.
pub(crate) fn number_of(value: &[u8]) -> Option<RecordNumber> {
    let (producer, rest) = value.split_first_chunk::<8>()?;
    let (index, _) = rest.split_first_chunk::<8>()?;
    Some(RecordNumber {
        producer: u64::from_be_bytes(*producer),
        index: u64::from_be_bytes(*index),
    })
}

/// What ends an action: the node stopped, or something is wrong.
#[derive(Debug)]
pub(crate) enum Fault {
    Halt(Halt),
    Violation(Violation),
}

impl From<Halt> for Fault {
    fn from(halt: Halt) -> Fault {
        Fault::Halt(halt)
    }
}

impl From<Violation> for Fault {
    fn from(violation: Violation) -> Fault {
        Fault::Violation(violation)
    }
}
