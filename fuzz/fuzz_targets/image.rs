//! A metadata log of any records: those that fit make an image, and the image survives its snapshot.
//!
//! The input is a list of record values, each behind two bytes of length; a record that contradicts the ones before is
//! left out, as it would end the start of a node. At most 40 of them: more would only be slower.

#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use metadata::batch::WriteError;
use metadata::snapshot::{SnapshotId, read_image, write_image};
use metadata::{Delta, Image, MetadataRecord};

fuzz_target!(|data: &[u8]| {
    // A bare snapshot first: its checksums are rarely right.
    let _ = read_image(&Bytes::copy_from_slice(data), SnapshotId::default());

    let mut image = Image::default();
    let mut rest = Bytes::copy_from_slice(data);
    for _ in 0..40 {
        if rest.len() <= 2 {
            break;
        }
        let length = usize::from(u16::from_be_bytes([rest[0], rest[1]]));
        let value = rest.slice(2..rest.len().min(2 + length));
        rest = rest.slice(2 + value.len()..);
        let Ok((_, record)) = MetadataRecord::decode(value) else { continue };
        let mut next = image.clone();
        if next.apply(&record, &mut Delta::default()).is_ok() {
            image = next;
        }
    }
    // What the levels in force have no record versions for is not in a snapshot: that is Kafka's rule, too.
    let level = image.features.metadata_version();
    if level.is_some_and(|level| level < 30) {
        return;
    }
    let mut bytes = Vec::new();
    let written = write_image(&image, Vec::new(), 0, &mut |piece| {
        bytes.extend_from_slice(&piece);
        Ok::<(), WriteError>(())
    });
    written.expect("an image that was read can be written");
    let (again, _) = read_image(&bytes.into(), SnapshotId::at(image.position)).expect("what was written can be read");
    // Not a number equals nothing, not even itself.
    let has_nan = image.quotas.iter().any(|(_, quotas)| quotas.values().any(|value| value.is_nan()));
    assert!(has_nan || again == Image { position: again.position, ..image });
});
