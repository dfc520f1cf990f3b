//! The coordinator's shards, one for each partition of `__consumer_offsets`.

use std::sync::Arc;

use coordinator::{GroupConfig, GroupShard, Now, Step, WriteError, encode_batch};
use model::{CONSUMER_OFFSETS, Offset, TopicPartition, Uuid, partition_for_id};
use storage::{FirstBatch, Origin};
use wire::records::batches;

use super::{Effect, Halt, Node, halt};

fn now(now_ms: i64) -> Now {
    Now {
        wall_ms: now_ms,
        steady_ms: now_ms,
    }
}

fn partition(index: i32) -> TopicPartition {
    TopicPartition::new(CONSUMER_OFFSETS, index)
}

impl Node {
    /// Rebuilds every shard from its log.
    pub(super) fn load_shards(&mut self, now_ms: i64) -> Result<(), Halt> {
        for index in 0..self.partition_count(CONSUMER_OFFSETS) {
            if !self.shards.contains_key(&index) {
                self.add_shard(index, now_ms)?;
            }
        }
        Ok(())
    }

    pub(super) fn add_shard(&mut self, index: i32, now_ms: i64) -> Result<(), Halt> {
        let config = GroupConfig {
            initial_rebalance_delay_ms: 100,
            ..GroupConfig::default()
        };
        let mut shard = GroupShard::new(config);
        let tp = partition(index);
        let mut next = Offset::ZERO;
        while next < self.shared_log_end(&tp) {
            let Some(hosted) = self.partitions.get(&tp) else {
                break;
            };
            let end = hosted.replica.log().log_end_offset();
            let read = hosted
                .replica
                .log()
                .read(next, 1 << 16, end, FirstBatch::Whole)
                .map_err(halt)?;
            let bytes = read.records.to_bytes().map_err(halt)?;
            let before = next;
            for batch in batches(&bytes).map_while(Result::ok) {
                shard.load_batch(&batch).map_err(halt)?;
                next = batch.header().next_offset();
            }
            if next == before {
                return Err(Halt(format!("{tp} cannot be read at offset {next}")));
            }
        }
        let step = shard.activate(now(now_ms));
        self.shards.insert(index, shard);
        self.carry_out(index, step, now_ms)
    }

    /// Lets the shard of a group decide.
    pub(crate) fn with_group(
        &mut self,
        group: &str,
        now_ms: i64,
        act: impl FnOnce(&mut GroupShard<u64>, Now) -> Step<u64>,
    ) -> Result<(), Halt> {
        let index = partition_for_id(group, self.partition_count(CONSUMER_OFFSETS));
        let Some(shard) = self.shards.get_mut(&index) else {
            return Ok(());
        };
        let step = act(shard, now(now_ms));
        self.carry_out(index, step, now_ms)
    }

    pub(super) fn tick_shards(&mut self, now_ms: i64) -> Result<(), Halt> {
        let indexes: Vec<i32> = self.shards.keys().copied().collect();
        for index in indexes {
            let Some(shard) = self.shards.get_mut(&index) else {
                continue;
            };
            if shard.next_deadline().is_some_and(|deadline| deadline <= now_ms) {
                let step = shard.tick(now(now_ms));
                self.carry_out(index, step, now_ms)?;
            }
        }
        Ok(())
    }

    pub(super) fn shard_committed(
        &mut self,
        index: i32,
        high_watermark: Offset,
        now_ms: i64,
    ) -> Result<(), Halt> {
        let Some(shard) = self.shards.get_mut(&index) else {
            return Ok(());
        };
        let step = shard.committed(now(now_ms), high_watermark.0);
        self.carry_out(index, step, now_ms)
    }

    pub(super) fn shards_forget_topic(
        &mut self,
        topic: &Arc<str>,
        id: Uuid,
        now_ms: i64,
    ) -> Result<(), Halt> {
        let indexes: Vec<i32> = self.shards.keys().copied().collect();
        for index in indexes {
            let Some(shard) = self.shards.get_mut(&index) else {
                continue;
            };
            let step = shard.topic_deleted(topic, id);
            self.carry_out(index, step, now_ms)?;
        }
        Ok(())
    }

    /// Gives answers, and appends what is to be written; a write counts once the watermark has passed it.
    fn carry_out(&mut self, index: i32, step: Step<u64>, now_ms: i64) -> Result<(), Halt> {
        let mut steps = vec![step];
        while let Some(step) = steps.pop() {
            let answers = step
                .answers
                .into_iter()
                .map(|(token, answer)| Effect::Answered { token, answer });
            self.effects.extend(answers);
            for write in step.writes {
                let batch = encode_batch(&write.records, now_ms).map_err(halt)?;
                let appended = self.append(&partition(index), &batch, Origin::Coordinator, now_ms)?;
                let Some(shard) = self.shards.get_mut(&index) else {
                    continue;
                };
                match appended {
                    Ok(accepted) => shard.appended(now(now_ms), write, accepted.appended.first_offset.0),
                    Err(_) => steps.push(shard.append_failed(now(now_ms), write, WriteError::Storage)),
                }
            }
        }
        Ok(())
    }
}
