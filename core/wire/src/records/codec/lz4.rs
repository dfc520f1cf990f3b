//! lz4 frames, as Kafka's clients write and read them: one frame, independent blocks.
//!
//! The frame is read here and only its blocks by lz4_flex, so that no buffer is sized by the frame's own claims, and
//! so that what Kafka's Java client cannot read (linked blocks, dictionaries) is refused on its way in.

use std::io::Write;

use lz4_flex::frame::{BlockMode, BlockSize, FrameEncoder, FrameInfo};
use twox_hash::XxHash32;

use super::super::cursor::{Cursor, CursorError};
use super::{Codec, CodecError};

const MAGIC: u32 = 0x184d_2204;
const VERSION_MASK: u8 = 0xc0;
const VERSION: u8 = 0x40;
const INDEPENDENT_BLOCKS: u8 = 0x20;
const BLOCK_CHECKSUMS: u8 = 0x10;
const CONTENT_SIZE: u8 = 0x08;
const CONTENT_CHECKSUM: u8 = 0x04;
const RESERVED: u8 = 0x03;
const STORED_BLOCK: u32 = 1 << 31;

/// What to do with the checksum of the frame's header.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum HeaderChecksum {
    /// It must be right.
    Verified,
    /// Messages of magic 0 carry one computed over the wrong bytes.
    Ignored,
}

struct Frame {
    block_size: usize,
    block_checksums: bool,
    content_checksum: bool,
}

pub(super) fn decompress(
    input: &[u8],
    limit: usize,
    check: HeaderChecksum,
    output: &mut Vec<u8>,
) -> Result<(), CodecError> {
    let cut_off = |_| broken("a frame is cut off");
    let mut cursor = Cursor::new(input);
    let frame = read_frame(&mut cursor, check)?;
    loop {
        let word = cursor.u32_little_endian().map_err(cut_off)?;
        if word == 0 {
            break;
        }
        let length = usize::try_from(word & !STORED_BLOCK).unwrap_or(usize::MAX);
        if length > frame.block_size {
            return Err(broken("a block is larger than the frame allows"));
        }
        let block = cursor.take(length).map_err(cut_off)?;
        if frame.block_checksums
            && cursor.u32_little_endian().map_err(cut_off)? != XxHash32::oneshot(0, block)
        {
            return Err(broken("the checksum of a block is wrong"));
        }
        append_block(output, block, word & STORED_BLOCK != 0, frame.block_size)?;
        if output.len() > limit {
            return Err(CodecError::TooLarge { limit });
        }
    }
    if frame.content_checksum && cursor.u32_little_endian().map_err(cut_off)? != XxHash32::oneshot(0, output)
    {
        return Err(broken("the checksum of the content is wrong"));
    }
    if cursor.remaining() > 0 {
        return Err(broken("bytes follow the frame"));
    }
    Ok(())
}

fn read_frame(cursor: &mut Cursor<'_>, check: HeaderChecksum) -> Result<Frame, CodecError> {
    let cut_off = |_| broken("the header of the frame is cut off");
    if cursor.u32_little_endian().map_err(cut_off)? != MAGIC {
        return Err(broken("no frame begins here"));
    }
    let descriptor = cursor.rest();
    let flags = byte(cursor).map_err(cut_off)?;
    let block = byte(cursor).map_err(cut_off)?;
    if flags & VERSION_MASK != VERSION || flags & RESERVED != 0 || block & 0x8f != 0 {
        return Err(broken("the frame uses what is not supported"));
    }
    if flags & INDEPENDENT_BLOCKS == 0 {
        return Err(broken("blocks depend on one another, which Kafka does not read"));
    }
    let block_size = match block >> 4 {
        code @ 4..=7 => 1usize << (8 + 2 * u32::from(code)),
        _ => return Err(broken("the frame has no valid block size")),
    };
    if flags & CONTENT_SIZE != 0 {
        cursor.take(8).map_err(cut_off)?;
    }
    let covered = descriptor.len() - cursor.remaining();
    let hash = XxHash32::oneshot(0, descriptor.get(..covered).unwrap_or_default());
    let checksum = byte(cursor).map_err(cut_off)?;
    if check == HeaderChecksum::Verified && hash.to_le_bytes().get(1) != Some(&checksum) {
        return Err(broken("the checksum of the header is wrong"));
    }
    Ok(Frame {
        block_size,
        block_checksums: flags & BLOCK_CHECKSUMS != 0,
        content_checksum: flags & CONTENT_CHECKSUM != 0,
    })
}

/// Appends one block, which may not grow past the frame's block size.
fn append_block(
    output: &mut Vec<u8>,
    block: &[u8],
    stored: bool,
    block_size: usize,
) -> Result<(), CodecError> {
    if stored {
        output.extend_from_slice(block);
        return Ok(());
    }
    let start = output.len();
    // A block of lz4 cannot grow more than 255-fold: a tiny one does not get a 4 MiB buffer.
    output.resize(start + block_size.min(block.len().saturating_mul(255)), 0);
    let target = output.get_mut(start..).unwrap_or_default();
    let written = lz4_flex::block::decompress_into(block, target)
        .map_err(|error| CodecError::broken(Codec::Lz4, error))?;
    output.truncate(start + written);
    Ok(())
}

fn byte(cursor: &mut Cursor<'_>) -> Result<u8, CursorError> {
    cursor.i8().map(i8::cast_unsigned)
}

fn broken(what: &str) -> CodecError {
    CodecError::broken(Codec::Lz4, what)
}

pub(super) fn compress(input: &[u8]) -> Result<Vec<u8>, CodecError> {
    let frame = FrameInfo::new()
        .block_size(BlockSize::Max64KB)
        .block_mode(BlockMode::Independent);
    let mut encoder = FrameEncoder::with_frame_info(frame, Vec::new());
    encoder
        .write_all(input)
        .map_err(|error| CodecError::broken(Codec::Lz4, error))?;
    encoder
        .finish()
        .map_err(|error| CodecError::broken(Codec::Lz4, error))
}
