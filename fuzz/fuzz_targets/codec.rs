//! Codecs: broken data is an error, a bomb stops at its limit, and what is compressed comes back.

#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use wire::records::{Codec, Compression, DecompressionLimit, compress, decompress};

const LIMIT: DecompressionLimit = DecompressionLimit { max_bytes: 8 << 20, ratio: 100 };

fuzz_target!(|data: &[u8]| {
    let Some((&choice, data)) = data.split_first() else { return };
    let codec = Codec::ALL[usize::from(choice) % Codec::ALL.len()];
    let input = Bytes::copy_from_slice(data);
    if let Ok(output) = decompress(codec, &input, LIMIT) {
        assert!(output.len() <= LIMIT.for_input(input.len()).max(input.len()));
    }
    if choice >= 128 {
        let packed = compress(Compression::of(codec), data).expect("anything can be compressed");
        // Very repetitive data is a bomb to the limit: that is its purpose.
        if let Ok(output) = decompress(codec, &packed.into(), LIMIT) {
            assert_eq!(output, input);
        }
    }
});
