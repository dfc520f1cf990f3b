//! Blocks of producer ids: none is ever given out twice (rule 134).

use model::{BrokerEpoch, BrokerId, ProducerId};
use wire::internal::metadata_log::ProducerIdsRecord;

use crate::brokers::BrokerError;
use crate::{Context, Decision};

/// How many ids a broker gets at a time.
pub const PRODUCER_ID_BLOCK: i32 = 1000;

/// Ids that one broker may give out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProducerIdBlock {
    /// The first.
    pub first: ProducerId,
    /// How many.
    pub count: i32,
}

/// Why a broker gets no ids.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProducerIdError {
    /// Not this broker, or not this incarnation of it.
    #[error(transparent)]
    Broker(#[from] BrokerError),
    /// All ids were given out.
    #[error("all producer ids have been given out")]
    Exhausted,
}

/// Decides on the next block for a broker.
pub fn allocate_producer_ids(
    context: &Context<'_>,
    broker: BrokerId,
    epoch: BrokerEpoch,
) -> Decision<Result<ProducerIdBlock, ProducerIdError>> {
    if let Err(error) = context.check_broker_epoch(broker, epoch) {
        return Decision::without_records(Err(error.into()));
    }
    let first = context.image.next_producer_id;
    let Some(next_producer_id) = first.checked_add(PRODUCER_ID_BLOCK.into()) else {
        return Decision::without_records(Err(ProducerIdError::Exhausted));
    };
    let record = ProducerIdsRecord {
        broker_id: broker.0,
        broker_epoch: epoch.0,
        next_producer_id,
    };
    let block = ProducerIdBlock {
        first: ProducerId(first),
        count: PRODUCER_ID_BLOCK,
    };
    Decision {
        records: vec![record.into()],
        reply: Ok(block),
    }
}
