//! zstd, by the reference library.

use std::cell::RefCell;

use zstd::bulk::{Compressor, Decompressor};

use super::{Codec, CodecError};

thread_local! {
    /// A context is some 100 KiB, which a new one would touch anew for each batch.
    static DECOMPRESSOR: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
}

pub(super) fn decompress(input: &[u8], limit: usize, output: &mut Vec<u8>) -> Result<(), CodecError> {
    let broken = |error| CodecError::broken(Codec::Zstd, error);
    let Some(bound) = Decompressor::upper_bound(input).filter(|_| !input.is_empty()) else {
        return Err(CodecError::broken(Codec::Zstd, "no frame"));
    };
    // The buffer is sized by what the frame's blocks can hold at most, never past the limit.
    output.reserve(bound.min(limit));
    DECOMPRESSOR.with_borrow_mut(|kept| {
        let decompressor = match kept {
            Some(decompressor) => decompressor,
            None => kept.insert(Decompressor::new().map_err(broken)?),
        };
        match decompressor.decompress_to_buffer(input, output) {
            Ok(written) if written <= limit => Ok(()),
            Err(error) if bound <= limit => Err(broken(error)),
            _ => Err(CodecError::TooLarge { limit }),
        }
    })
}

pub(super) fn compress(input: &[u8], level: i32) -> Result<Vec<u8>, CodecError> {
    Compressor::new(level)
        .and_then(|mut compressor| compressor.compress(input))
        .map_err(|error| CodecError::broken(Codec::Zstd, error))
}
