//! snappy: written in the framing of xerial's snappy-java, which Kafka's clients write; read in that and bare.
//!
//! The framing: magic, version, lowest compatible version, then blocks of a 32-bit length and a raw snappy block.
//! Streams may follow one another, each with its own header.

use super::super::cursor::Cursor;
use super::{Codec, CodecError};

const MAGIC: [u8; 8] = [0x82, b'S', b'N', b'A', b'P', b'P', b'Y', 0];
/// Version and lowest compatible version.
const VERSIONS: [u8; 8] = [0, 0, 0, 1, 0, 0, 0, 1];
/// What snappy-java puts in one block.
const BLOCK_SIZE: usize = 32 << 10;

pub(super) fn decompress(input: &[u8], limit: usize, output: &mut Vec<u8>) -> Result<(), CodecError> {
    let Some(mut rest) = input.strip_prefix(&MAGIC) else {
        return append_block(output, input, limit);
    };
    let cut_off = |_| CodecError::broken(Codec::Snappy, "a frame is cut off");
    loop {
        let mut cursor = Cursor::new(rest);
        cursor.take(VERSIONS.len()).map_err(cut_off)?;
        while cursor.remaining() > 0 && !cursor.rest().starts_with(&MAGIC) {
            let length = cursor.u32().map_err(cut_off)?;
            let block = cursor
                .take(usize::try_from(length).unwrap_or(usize::MAX))
                .map_err(cut_off)?;
            append_block(output, block, limit)?;
        }
        match cursor.rest().strip_prefix(&MAGIC) {
            Some(next) => rest = next,
            None => return Ok(()),
        }
    }
}

/// Decompresses one raw block behind what is there.
fn append_block(output: &mut Vec<u8>, block: &[u8], limit: usize) -> Result<(), CodecError> {
    let broken = |error| CodecError::broken(Codec::Snappy, error);
    // The declared length is checked against the limit before anything is allocated by it.
    let declared = snap::raw::decompress_len(block).map_err(broken)?;
    let start = output.len();
    let end = start
        .checked_add(declared)
        .filter(|end| *end <= limit)
        .ok_or(CodecError::TooLarge { limit })?;
    output.resize(end, 0);
    let written = snap::raw::Decoder::new()
        .decompress(block, output.get_mut(start..).unwrap_or_default())
        .map_err(broken)?;
    output.truncate(start + written);
    Ok(())
}

pub(super) fn compress(input: &[u8]) -> Result<Vec<u8>, CodecError> {
    let mut output = Vec::with_capacity(32 + input.len() / 2);
    output.extend_from_slice(&MAGIC);
    output.extend_from_slice(&VERSIONS);
    let mut encoder = snap::raw::Encoder::new();
    for block in input.chunks(BLOCK_SIZE) {
        let packed = encoder
            .compress_vec(block)
            .map_err(|error| CodecError::broken(Codec::Snappy, error))?;
        let length = u32::try_from(packed.len()).map_err(|error| CodecError::broken(Codec::Snappy, error))?;
        output.extend_from_slice(&length.to_be_bytes());
        output.extend_from_slice(&packed);
    }
    Ok(output)
}
