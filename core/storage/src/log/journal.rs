//! What the journal of the directory has beyond the end that recovery found.

use bytes::Bytes;
use model::Offset;
use wire::records::{Batch, batches};

use super::open::RecoveryReport;
use super::{AppendError, FirstBatch, Log, ReadError};
use crate::journal::JournalRows;

impl Log {
    /// Appends what the log does not have. What makes no sense ends it, and is reported.
    pub(super) fn replay(
        &mut self,
        rows: &JournalRows,
        report: &mut RecoveryReport,
        now_ms: i64,
    ) -> Result<(), ReadError> {
        let mut known = None;
        for row in rows.batches() {
            let (base_offset, row) = row?;
            let end = self.log_end_offset();
            if base_offset > end {
                report.journal_fault = Some(format!("it goes on at {base_offset}, behind the end at {end}"));
                break;
            }
            match self.replay_row(&row, &mut known, now_ms) {
                Ok(bytes) => report.replayed_bytes += bytes,
                Err(AppendError::Disk(error)) => return Err(error.into()),
                Err(error) => {
                    report.journal_fault = Some(format!("it does not fit the log: {error}"));
                    break;
                }
            }
        }
        Ok(())
    }

    /// The bytes appended. `known` is the last batch that the log had, until it is compared.
    fn replay_row(
        &mut self,
        row: &Bytes,
        known: &mut Option<Batch>,
        now_ms: i64,
    ) -> Result<u64, AppendError> {
        let mut appended = 0;
        for batch in batches(row) {
            let batch = batch.map_err(AppendError::Corrupt)?;
            if batch.header().next_offset() <= self.log_end_offset() {
                *known = Some(batch);
                continue;
            }
            if let Some(known) = known.take() {
                self.check_known(&known)?;
            }
            // One at a time, so that segments roll where they must.
            appended += self.append_as_follower(batch.bytes(), now_ms)?.bytes as u64;
        }
        Ok(appended)
    }

    /// What the log has of the journal is the same there: nobody has written to it without knowing of the journal.
    fn check_known(&self, batch: &Batch) -> Result<(), AppendError> {
        let base_offset = batch.header().base_offset;
        if base_offset < self.log_start_offset() {
            // It has left the log since.
            return Ok(());
        }
        let read = self.read(
            base_offset,
            batch.bytes().len(),
            self.log_end_offset(),
            FirstBatch::Limited,
        )?;
        if read.records.to_bytes()? == *batch.bytes() {
            return Ok(());
        }
        Err(AppendError::OffsetOrder {
            found: base_offset,
            log_end_offset: self.log_end_offset(),
        })
    }

    /// The start that the checkpoint tells, applied to what was replayed.
    pub(super) fn start_at(
        &mut self,
        offset: Offset,
        report: &mut RecoveryReport,
        now_ms: i64,
    ) -> Result<(), ReadError> {
        let end = self.log_end_offset();
        if offset > end {
            report.fault(|| {
                format!("it begins at {offset} by its checkpoint: records up to {end} are removed")
            });
            self.truncate_fully_and_start_at(offset, now_ms)?;
        }
        self.set_log_start_offset(offset);
        Ok(())
    }
}
