//! Record sets of every format: headers, checksums, records, compressed or not.

#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use wire::records::{DecompressionLimit, batches, entries};

/// Small, so that a bomb is seen as memory.
const LIMIT: DecompressionLimit = DecompressionLimit { max_bytes: 4 << 20, ratio: 100 };

fuzz_target!(|data: &[u8]| {
    let bytes = Bytes::copy_from_slice(data);
    let mut stepped_over = 0;
    for batch in batches(&bytes).flatten() {
        stepped_over += batch.bytes().len();
        let _ = batch.verify_crc();
        let Ok(payload) = batch.payload(LIMIT) else { continue };
        assert!(payload.len() <= LIMIT.max_bytes);
        let _ = batch.largest_timestamp(&payload);
        if let Ok(records) = batch.records(LIMIT) {
            let read = records.take_while(Result::is_ok).count();
            assert!(read <= payload.len());
        }
    }
    assert!(stepped_over <= bytes.len());
    for entry in entries(&bytes).flatten() {
        let _ = entry.verify_crc();
        let _ = (entry.last_offset(), entry.max_timestamp(), entry.timestamp_type());
        let _ = entry.records(LIMIT);
    }
});
