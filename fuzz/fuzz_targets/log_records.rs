//! What lies in logs: records of the coordinators' topics, of the metadata log, and what members tell each other.

#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use metadata::MetadataRecord;
use wire::internal::consumer_protocol::{ConsumerProtocolAssignment, ConsumerProtocolSubscription};
use wire::internal::from_versioned_bytes;
use wire::internal::kinds::{GROUP_RECORDS, SHARE_STATE_RECORDS, TRANSACTION_RECORDS};

fuzz_target!(|data: &[u8]| {
    let Some((&choice, data)) = data.split_first() else { return };
    let bytes = Bytes::copy_from_slice(data);
    let kinds = match choice % 6 {
        0 => GROUP_RECORDS,
        1 => TRANSACTION_RECORDS,
        2 => SHARE_STATE_RECORDS,
        3 => {
            if let Ok((version, record)) = MetadataRecord::decode(bytes) {
                let _ = record.to_json(version);
            }
            return;
        }
        4 => {
            let _ = from_versioned_bytes::<ConsumerProtocolSubscription>(bytes);
            return;
        }
        _ => {
            let _ = from_versioned_bytes::<ConsumerProtocolAssignment>(bytes);
            return;
        }
    };
    for kind in kinds {
        let _ = kind.key_to_value(bytes.clone());
        if let Ok((_, value)) = kind.value_to_value(bytes.clone()) {
            let _ = value.to_string();
        }
    }
});
