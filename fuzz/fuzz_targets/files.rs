//! The small files of a data directory, which a power cut or a stranger may have changed.

#![no_main]

use libfuzzer_sys::fuzz_target;
use storage::{
    MetaProperties, PartitionMetadata, decode_offset_index, decode_snapshot, decode_time_index,
    decode_transactions, parse_epochs, parse_offsets, render_offsets,
};

fuzz_target!(|data: &[u8]| {
    if let Ok(offsets) = parse_offsets(data) {
        let again = parse_offsets(render_offsets(&offsets).as_bytes()).expect("what was written can be read");
        assert_eq!(again, offsets);
    }
    if let Ok(meta) = MetaProperties::parse(data) {
        assert_eq!(
            MetaProperties::parse(&meta.render()).expect("what was written can be read"),
            meta
        );
    }
    if let Some(partition) = PartitionMetadata::parse(data) {
        assert_eq!(
            PartitionMetadata::parse(partition.render().as_bytes()),
            Some(partition)
        );
    }
    let _ = parse_epochs(data);
    let _ = decode_snapshot(data);
    let _ = decode_transactions(data);
    assert!(decode_offset_index(data).is_sorted_by_key(|entry| entry.relative_offset));
    assert!(decode_time_index(data).is_sorted_by_key(|entry| entry.timestamp));
});
