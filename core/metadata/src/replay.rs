//! The way from the log's records to images: transactions of the log count whole or not at all (KIP-868).

use wire::internal::metadata_log::{AbortTransactionRecord, EndTransactionRecord};

use crate::delta::Delta;
use crate::image::{ApplyError, Image, LogPosition};
use crate::record::MetadataRecord;

/// An image that follows the log, with what changed since the delta was last taken.
#[derive(Clone, Debug, Default)]
pub struct Replay {
    image: Image,
    delta: Delta,
    /// The image and delta from before the open transaction.
    before_transaction: Option<(Image, Delta)>,
}

impl Replay {
    /// Follows the log from an image on.
    pub fn from_image(image: Image) -> Replay {
        Replay {
            image,
            ..Replay::default()
        }
    }

    /// Applies the records of one batch, the last of which stands at `position`.
    ///
    /// # Errors
    /// When the log contradicts itself: it must not be followed further.
    pub fn apply_batch(
        &mut self,
        records: &[MetadataRecord],
        position: LogPosition,
    ) -> Result<(), ApplyError> {
        for record in records {
            self.apply(record)?;
        }
        self.advance(position);
        Ok(())
    }

    fn apply(&mut self, record: &MetadataRecord) -> Result<(), ApplyError> {
        match record {
            MetadataRecord::BeginTransaction(_) => {
                if self.in_transaction() {
                    return Err(ApplyError::Transaction(record.name()));
                }
                self.before_transaction = Some((self.image.clone(), self.delta.clone()));
            }
            MetadataRecord::EndTransaction(_) => {
                self.before_transaction
                    .take()
                    .ok_or(ApplyError::Transaction(record.name()))?;
            }
            MetadataRecord::AbortTransaction(_) => {
                let before = self
                    .before_transaction
                    .take()
                    .ok_or(ApplyError::Transaction(record.name()))?;
                (self.image, self.delta) = before;
            }
            _ => self.image.apply(record, &mut self.delta)?,
        }
        Ok(())
    }

    /// Notes that the log reached `position` without a record that counts: control records.
    pub fn advance(&mut self, position: LogPosition) {
        self.image.position = position;
    }

    /// Whether a transaction began and has not ended.
    pub fn in_transaction(&self) -> bool {
        self.before_transaction.is_some()
    }

    /// What the log says, open transactions left out.
    pub fn image(&self) -> &Image {
        self.before_transaction
            .as_ref()
            .map_or(&self.image, |(image, _)| image)
    }

    /// What changed since the last call. While a transaction is open, nothing has yet.
    pub fn take_delta(&mut self) -> Delta {
        if self.in_transaction() {
            Delta::default()
        } else {
            std::mem::take(&mut self.delta)
        }
    }

    /// What ends a transaction that its leader did not live to end.
    pub fn abort(reason: &str) -> MetadataRecord {
        MetadataRecord::AbortTransaction(AbortTransactionRecord {
            reason: Some(reason.into()),
        })
    }

    /// What ends a transaction.
    pub fn end() -> MetadataRecord {
        MetadataRecord::EndTransaction(EndTransactionRecord)
    }
}
