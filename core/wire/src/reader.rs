//! Reading a received frame: bounds-checked, without a copy, within a budget.
//!
//! No count from the wire sizes an allocation by itself: it must fit in what is left of the frame, and the memory all
//! elements take together is bounded by the reader's budget.

use bytes::Bytes;
use bytestring::ByteString;

use crate::error::{DecodeError, DecodeReason};
use crate::field::Form;

/// The memory that the elements of one frame may take unless the caller says otherwise, in bytes: some 500,000
/// partitions of a Fetch request. Strings and payloads are slices of the frame and do not count.
pub const ELEMENT_BUDGET: usize = 64 << 20;

/// What an array costs beside its elements.
const ARRAY_OVERHEAD: usize = 16;

/// A cursor over a received frame; what it yields are slices of that frame.
#[derive(Debug)]
pub struct Reader {
    frame: Bytes,
    position: usize,
    budget: usize,
    budget_left: usize,
}

/// The progress through a section of tagged fields.
#[derive(Debug)]
pub struct Tags {
    left: u32,
    previous: Option<u32>,
}

impl Reader {
    /// Reads `frame` with the usual budget.
    pub fn new(frame: Bytes) -> Reader {
        Reader::with_budget(frame, ELEMENT_BUDGET)
    }

    /// Reads `frame`; all arrays together may take `budget` bytes of memory.
    pub fn with_budget(frame: Bytes, budget: usize) -> Reader {
        Reader {
            frame,
            position: 0,
            budget,
            budget_left: budget,
        }
    }

    /// The bytes not read yet.
    pub fn remaining(&self) -> usize {
        self.frame.len() - self.position
    }

    /// The bytes read so far.
    pub fn position(&self) -> usize {
        self.position
    }

    /// An error at the present position.
    pub fn error(&self, reason: DecodeReason) -> DecodeError {
        DecodeError {
            reason,
            position: self.position,
        }
    }

    /// The next `N` bytes, which stay unread.
    pub fn peek<const N: usize>(&self) -> Result<[u8; N], DecodeError> {
        let rest = self.frame.get(self.position..).unwrap_or_default();
        rest.first_chunk().copied().ok_or_else(|| self.truncated(N))
    }

    /// The next `N` bytes.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let bytes = self.peek()?;
        self.position += N;
        Ok(bytes)
    }

    /// The next `length` bytes, as a slice of the frame.
    pub fn slice(&mut self, length: usize) -> Result<Bytes, DecodeError> {
        if length > self.remaining() {
            return Err(self.truncated(length));
        }
        let start = self.position;
        self.position += length;
        Ok(self.frame.slice(start..self.position))
    }

    /// Passes over `length` bytes.
    pub fn skip(&mut self, length: usize) -> Result<(), DecodeError> {
        if length > self.remaining() {
            return Err(self.truncated(length));
        }
        self.position += length;
        Ok(())
    }

    /// The next `length` bytes, as text.
    pub fn string(&mut self, length: usize) -> Result<ByteString, DecodeError> {
        let bytes = self.slice(length)?;
        ByteString::try_from(bytes).map_err(|_| self.error(DecodeReason::InvalidUtf8))
    }

    /// A byte.
    pub fn read_i8(&mut self) -> Result<i8, DecodeError> {
        Ok(i8::from_be_bytes(self.array()?))
    }

    /// A big-endian 16-bit integer.
    pub fn read_i16(&mut self) -> Result<i16, DecodeError> {
        Ok(i16::from_be_bytes(self.array()?))
    }

    /// A big-endian 32-bit integer.
    pub fn read_i32(&mut self) -> Result<i32, DecodeError> {
        Ok(i32::from_be_bytes(self.array()?))
    }

    /// A big-endian 64-bit integer.
    pub fn read_i64(&mut self) -> Result<i64, DecodeError> {
        Ok(i64::from_be_bytes(self.array()?))
    }

    /// An unsigned varint of at most 5 bytes and 32 bits.
    pub fn read_unsigned_varint(&mut self) -> Result<u32, DecodeError> {
        let value = self.base_128(5)?;
        u32::try_from(value).map_err(|_| self.error(DecodeReason::VarintTooLong))
    }

    /// A zigzag varint of at most 5 bytes and 32 bits.
    pub fn read_varint(&mut self) -> Result<i32, DecodeError> {
        let raw = self.read_unsigned_varint()?;
        Ok((raw >> 1).cast_signed() ^ -(raw & 1).cast_signed())
    }

    /// A zigzag varint of at most 10 bytes and 64 bits.
    pub fn read_varlong(&mut self) -> Result<i64, DecodeError> {
        let raw = self.base_128(10)?;
        Ok((raw >> 1).cast_signed() ^ -(raw & 1).cast_signed())
    }

    fn base_128(&mut self, longest: u32) -> Result<u64, DecodeError> {
        let mut value = 0u64;
        for index in 0..longest {
            let [byte] = self.array()?;
            let bits = u64::from(byte & 0x7f);
            let shifted = bits << (7 * index);
            if shifted >> (7 * index) != bits {
                break;
            }
            value |= shifted;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(self.error(DecodeReason::VarintTooLong))
    }

    /// The length of a string; `None` for null.
    pub fn string_length(&mut self, form: Form) -> Result<Option<usize>, DecodeError> {
        if form.flexible {
            return self.compact_length();
        }
        let length = self.read_i16()?;
        self.signed_length(i32::from(length))
    }

    /// The length of bytes, records or an array; `None` for null.
    pub fn length(&mut self, form: Form) -> Result<Option<usize>, DecodeError> {
        if form.flexible {
            return self.compact_length();
        }
        let length = self.read_i32()?;
        self.signed_length(length)
    }

    fn compact_length(&mut self) -> Result<Option<usize>, DecodeError> {
        let raw = self.read_unsigned_varint()?;
        Ok(raw.checked_sub(1).map(|length| length as usize))
    }

    fn signed_length(&self, length: i32) -> Result<Option<usize>, DecodeError> {
        match usize::try_from(length) {
            Ok(length) => Ok(Some(length)),
            Err(_) if length == -1 => Ok(None),
            Err(_) => Err(self.error(DecodeReason::NegativeLength(length))),
        }
    }

    /// Accepts an array of `count` elements, each at least `min_size` bytes on the wire and `size` in memory, or says
    /// why not.
    pub fn claim(&mut self, count: usize, min_size: usize, size: usize) -> Result<(), DecodeError> {
        let left = self.remaining();
        if count > left / min_size.max(1) {
            return Err(self.error(DecodeReason::CountTooLarge { count, left }));
        }
        let memory = count.saturating_mul(size).saturating_add(ARRAY_OVERHEAD);
        match self.budget_left.checked_sub(memory) {
            Some(left) => self.budget_left = left,
            None => return Err(self.error(DecodeReason::BudgetExceeded { limit: self.budget })),
        }
        Ok(())
    }

    /// Begins a section of tagged fields.
    pub fn tags(&mut self) -> Result<Tags, DecodeError> {
        let count = self.read_unsigned_varint()?;
        // A tagged field takes two bytes at least: its tag and its size.
        if count as usize > self.remaining() / 2 {
            return Err(self.error(DecodeReason::CountTooLarge {
                count: count as usize,
                left: self.remaining(),
            }));
        }
        Ok(Tags {
            left: count,
            previous: None,
        })
    }

    /// The tag and the size of the next tagged field; `None` after the last.
    pub fn next_tag(&mut self, tags: &mut Tags) -> Result<Option<(u32, usize)>, DecodeError> {
        let Some(left) = tags.left.checked_sub(1) else {
            return Ok(None);
        };
        tags.left = left;
        let tag = self.read_unsigned_varint()?;
        if let Some(previous) = tags.previous.filter(|previous| *previous >= tag) {
            return Err(self.error(DecodeReason::TagOrder { tag, previous }));
        }
        tags.previous = Some(tag);
        let size = self.read_unsigned_varint()? as usize;
        if size > self.remaining() {
            return Err(self.truncated(size));
        }
        Ok(Some((tag, size)))
    }

    /// Reads a known tagged field, which must take exactly `size` bytes.
    pub fn tagged<T>(
        &mut self,
        size: usize,
        read: impl FnOnce(&mut Reader) -> Result<T, DecodeError>,
    ) -> Result<T, DecodeError> {
        let start = self.position;
        let value = read(self)?;
        let taken = self.position - start;
        if taken != size {
            return Err(self.error(DecodeReason::TagSize { size, taken }));
        }
        Ok(value)
    }

    fn truncated(&self, needed: usize) -> DecodeError {
        self.error(DecodeReason::Truncated {
            needed,
            left: self.remaining(),
        })
    }
}
