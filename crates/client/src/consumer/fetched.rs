//! The records of one partition in one answer: decoded batch by batch, without what the consumer must not see — records
//! before its position, control records, and, for `read_committed`, records of aborted transactions.

use std::collections::BTreeSet;
use std::vec;

use bytes::Bytes;
use model::TopicPartition;
use wire::messages::fetch::AbortedTransaction;
use wire::records::{
    Batch, BatchError, ControlRecordType, DecompressionLimit, Entries, Entry, Record, RecordError,
    RecordIter, TimestampType, entries,
};

use crate::config::ConsumerConfig;
use crate::consumer::record::ConsumerRecord;
use crate::error::ClientError;

/// Records fetched and not yet given out.
#[derive(Debug)]
pub(crate) struct Fetched {
    pub(crate) partition: TopicPartition,
    /// The position the fetch was for, by its serial number: records of an older one are worthless.
    pub(crate) serial: u64,
    /// Behind the last batch that is whole: where the next fetch goes on.
    end: i64,
    entries: Entries,
    records: Opened,
    timestamp_type: Option<TimestampType>,
    leader_epoch: i32,
    next_offset: i64,
    /// Behind the batch that is being given out.
    batch_end: i64,
    checks_crc: bool,
    /// Aborted transactions not yet begun, the last to begin first; `None` for `read_uncommitted`.
    to_begin: Option<Vec<AbortedTransaction>>,
    /// The producers whose transaction at this point is an aborted one.
    aborting: BTreeSet<i64>,
    /// What is wrong with the next batch.
    failure: Option<ClientError>,
}

/// The records of the entry that is being given out.
#[derive(Debug)]
enum Opened {
    Batch(RecordIter),
    /// Old messages, which are read at once.
    Messages(vec::IntoIter<Record>),
}

impl Opened {
    fn next(&mut self) -> Option<Result<Record, RecordError>> {
        match self {
            Opened::Batch(records) => records.next(),
            Opened::Messages(records) => records.next().map(Ok),
        }
    }
}

impl Fetched {
    pub(crate) fn new(
        partition: TopicPartition,
        serial: u64,
        position: i64,
        bytes: &Bytes,
        config: &ConsumerConfig,
    ) -> Fetched {
        Fetched {
            partition,
            serial,
            end: entries(bytes)
                .map_while(Result::ok)
                .last()
                .map_or(position, |last| {
                    position.max(last.last_offset().0.saturating_add(1))
                }),
            entries: entries(bytes),
            records: Opened::Messages(Vec::new().into_iter()),
            timestamp_type: None,
            leader_epoch: -1,
            next_offset: position,
            batch_end: position,
            checks_crc: config.check_crcs,
            to_begin: None,
            aborting: BTreeSet::new(),
            failure: None,
        }
    }

    /// Leaves out the records of these transactions.
    pub(crate) fn without(mut self, mut aborted: Vec<AbortedTransaction>) -> Fetched {
        aborted.sort_by_key(|transaction| std::cmp::Reverse(transaction.first_offset));
        self.to_begin = Some(aborted);
        self
    }

    /// The offset after the last record given out or left out.
    pub(crate) fn next_offset(&self) -> i64 {
        self.next_offset
    }

    /// The offset after all of them.
    pub(crate) fn end(&self) -> i64 {
        self.end
    }

    /// The epoch of the batch the last record was in; -1 when unknown.
    pub(crate) fn leader_epoch(&self) -> i32 {
        self.leader_epoch
    }

    /// Moves records until there are `limit`, or it has no more, which is true then. An error comes again at every call.
    pub(crate) fn read_into(
        &mut self,
        records: &mut Vec<ConsumerRecord>,
        limit: usize,
    ) -> Result<bool, ClientError> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        let read = self.try_read_into(records, limit);
        if let Err(failure) = &read {
            self.failure = Some(failure.clone());
        }
        read
    }

    fn try_read_into(
        &mut self,
        records: &mut Vec<ConsumerRecord>,
        limit: usize,
    ) -> Result<bool, ClientError> {
        while records.len() < limit {
            if let Some(record) = self.records.next() {
                let record = record.map_err(|error| self.corrupt(&error.to_string()))?;
                let offset = record.offset.0;
                if offset >= self.next_offset {
                    self.next_offset = offset.saturating_add(1);
                    records.push(ConsumerRecord {
                        partition: self.partition.clone(),
                        offset,
                        timestamp: record.timestamp,
                        timestamp_type: self.timestamp_type,
                        leader_epoch: self.leader_epoch,
                        key: record.key,
                        value: record.value,
                        headers: record.headers,
                    });
                }
                continue;
            }
            // Compaction may have removed the last records of the batch just finished.
            self.next_offset = self.next_offset.max(self.batch_end);
            match self.entries.next() {
                Some(Ok(entry)) => self.open(&entry)?,
                // The broker cuts the last batch where the answer is full.
                None | Some(Err(BatchError::Truncated { .. })) => return Ok(true),
                Some(Err(error)) => return Err(self.corrupt(&error.to_string())),
            }
        }
        Ok(false)
    }

    fn open(&mut self, entry: &Entry) -> Result<(), ClientError> {
        if self.checks_crc {
            entry
                .verify_crc()
                .map_err(|error| self.corrupt(&error.to_string()))?;
        }
        self.batch_end = entry.last_offset().0.saturating_add(1);
        let is_hidden = match entry {
            Entry::Batch(batch) => self.is_hidden(batch)?,
            Entry::Message(_) => false,
        };
        if is_hidden || self.batch_end <= self.next_offset {
            return Ok(());
        }
        self.timestamp_type = entry.timestamp_type();
        self.leader_epoch = match entry {
            Entry::Batch(batch) => batch.header().leader_epoch.0,
            Entry::Message(_) => -1,
        };
        let limit = DecompressionLimit::default();
        let records = match entry {
            Entry::Batch(batch) => batch.records(limit).map(Opened::Batch),
            Entry::Message(_) => entry
                .records(limit)
                .map(|records| Opened::Messages(records.into_iter())),
        };
        self.records = records.map_err(|error| self.corrupt(&error.to_string()))?;
        Ok(())
    }

    /// Whether the consumer must not see a batch; keeps track of the transactions that begin and end.
    fn is_hidden(&mut self, batch: &Batch) -> Result<bool, ClientError> {
        let header = batch.header();
        let producer = header.producer_id.0;
        if let Some(to_begin) = &mut self.to_begin {
            while let Some(next) = to_begin.pop_if(|next| next.first_offset <= header.last_offset().0) {
                self.aborting.insert(next.producer_id);
            }
        }
        if header.attributes.is_control() {
            let is_abort = self.to_begin.is_some() && self.ends_in_abort(batch)?;
            if is_abort {
                self.aborting.remove(&producer);
            }
            return Ok(true);
        }
        Ok(header.attributes.is_transactional() && self.aborting.contains(&producer))
    }

    fn ends_in_abort(&self, batch: &Batch) -> Result<bool, ClientError> {
        let records = batch
            .records(DecompressionLimit::default())
            .map_err(|error| self.corrupt(&error.to_string()))?;
        let kinds = records
            .filter_map(Result::ok)
            .map(|record| ControlRecordType::of(&record));
        Ok(kinds.last().flatten() == Some(ControlRecordType::Abort))
    }

    fn corrupt(&self, reason: &str) -> ClientError {
        ClientError::refused(format!(
            "{} cannot be read at offset {}: {reason}; seek past it to go on",
            self.partition, self.next_offset
        ))
    }
}

#[cfg(test)]
mod tests;
