//! gzip, by flate2 on zlib-rs.

use std::io::{Read, Write};

use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;

use super::{Codec, CodecError};

pub(super) fn decompress(input: &[u8], limit: usize, output: &mut Vec<u8>) -> Result<(), CodecError> {
    // One byte more than allowed tells a full buffer from one that would have grown on.
    let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    MultiGzDecoder::new(input)
        .take(most)
        .read_to_end(output)
        .map_err(|error| CodecError::broken(Codec::Gzip, error))?;
    if output.len() > limit {
        return Err(CodecError::TooLarge { limit });
    }
    Ok(())
}

pub(super) fn compress(input: &[u8], level: i32) -> Result<Vec<u8>, CodecError> {
    // -1 is Java's name for the default level.
    let level = u32::try_from(level).map_or(6, |level| level.min(9));
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::new(level));
    encoder
        .write_all(input)
        .and_then(|()| encoder.finish())
        .map_err(|error| CodecError::broken(Codec::Gzip, error))
}
