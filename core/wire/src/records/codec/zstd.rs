//! zstd, by the reference library.

use zstd::bulk::{Compressor, Decompressor};

use super::{Codec, CodecError};

pub(super) fn decompress(input: &[u8], limit: usize) -> Result<Vec<u8>, CodecError> {
    let broken = |error| CodecError::broken(Codec::Zstd, error);
    if input.is_empty() {
        return Err(CodecError::broken(Codec::Zstd, "no frame"));
    }
    let mut decompressor = Decompressor::new().map_err(broken)?;
    // The buffer is sized by what the frame's blocks can hold at most, never past the limit.
    let mut output =
        decompressor
            .decompress(input, limit)
            .map_err(|error| match Decompressor::upper_bound(input) {
                Some(bound) if bound > limit => CodecError::TooLarge { limit },
                _ => broken(error),
            })?;
    if output.capacity() / 2 > output.len() {
        output.shrink_to_fit();
    }
    Ok(output)
}

pub(super) fn compress(input: &[u8], level: i32) -> Result<Vec<u8>, CodecError> {
    Compressor::new(level)
        .and_then(|mut compressor| compressor.compress(input))
        .map_err(|error| CodecError::broken(Codec::Zstd, error))
}
