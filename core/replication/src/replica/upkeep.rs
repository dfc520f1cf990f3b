//! What is done to a replica now and then.

use storage::ReadError;

use super::super::waits::Woken;
use super::Replica;

impl<P, F: Clone> Replica<P, F> {
    /// Retention (rule 122): takes old segments out of the log; readers who watch are told of the new start. Returns
    /// the number of segments, whose files wait for [`storage::Log::take_deleted`].
    pub fn delete_old_segments(
        &mut self,
        now_ms: i64,
        woken: &mut Vec<Woken<P, F>>,
    ) -> Result<usize, ReadError> {
        let start_before = self.log.log_start_offset();
        let deleted = self.log.delete_old_segments(now_ms, self.high_watermark)?;
        if self.log.log_start_offset() != start_before {
            self.watches.notify(|_| Some(0), woken);
        }
        Ok(deleted)
    }
}
