//! A reader over a borrowed slice, for what lies inside a batch: every read is bounded, none panics.

/// Why a read failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CursorError {
    /// The slice ends before the value does.
    End,
    /// A varint is longer than its type allows, or sets bits its type has not.
    Varint,
}

/// A position in a slice.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Cursor<'a> {
        Cursor { rest: bytes }
    }

    #[inline]
    pub(super) fn remaining(&self) -> usize {
        self.rest.len()
    }

    #[inline]
    pub(super) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub(super) fn take(&mut self, count: usize) -> Result<&'a [u8], CursorError> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(CursorError::End)?;
        self.rest = rest;
        Ok(taken)
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Result<[u8; N], CursorError> {
        let (taken, rest) = self.rest.split_first_chunk::<N>().ok_or(CursorError::End)?;
        self.rest = rest;
        Ok(*taken)
    }

    #[inline]
    pub(super) fn i8(&mut self) -> Result<i8, CursorError> {
        Ok(i8::from_be_bytes(self.array()?))
    }

    pub(super) fn i16(&mut self) -> Result<i16, CursorError> {
        Ok(i16::from_be_bytes(self.array()?))
    }

    pub(super) fn i32(&mut self) -> Result<i32, CursorError> {
        Ok(i32::from_be_bytes(self.array()?))
    }

    pub(super) fn u32(&mut self) -> Result<u32, CursorError> {
        Ok(u32::from_be_bytes(self.array()?))
    }

    pub(super) fn i64(&mut self) -> Result<i64, CursorError> {
        Ok(i64::from_be_bytes(self.array()?))
    }

    pub(super) fn u32_little_endian(&mut self) -> Result<u32, CursorError> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    /// A zigzag varint of 32 bits.
    pub(super) fn varint(&mut self) -> Result<i32, CursorError> {
        // Lengths and deltas of small records fit one byte: by far the most common case.
        if let Some((&byte, rest)) = self.rest.split_first()
            && byte < 0x80
        {
            self.rest = rest;
            return Ok(i32::from(byte >> 1) ^ -i32::from(byte & 1));
        }
        let raw = u32::try_from(self.unsigned(5)?).map_err(|_| CursorError::Varint)?;
        Ok(zigzag(raw))
    }

    /// A zigzag varint of 64 bits.
    pub(super) fn varlong(&mut self) -> Result<i64, CursorError> {
        let raw = self.unsigned(10)?;
        Ok((raw >> 1).cast_signed() ^ -(raw & 1).cast_signed())
    }

    /// The bits of a varint of at most three bytes; `None` where it is longer or the slice ends.
    #[inline]
    pub(super) fn short_varint(&mut self) -> Option<u32> {
        let (bits, rest) = match *self.rest {
            [a, ref rest @ ..] if a < 0x80 => (u32::from(a), rest),
            [a, b, ref rest @ ..] if b < 0x80 => (u32::from(a & 0x7f) | u32::from(b) << 7, rest),
            [a, b, c, ref rest @ ..] if c < 0x80 => (
                u32::from(a & 0x7f) | u32::from(b & 0x7f) << 7 | u32::from(c) << 14,
                rest,
            ),
            _ => return None,
        };
        self.rest = rest;
        Some(bits)
    }

    /// Bytes behind a varint length of at most three bytes, the inner `None` for -1; the outer one where there is no
    /// such thing.
    #[inline]
    pub(super) fn short_nullable_bytes(&mut self) -> Option<Option<&'a [u8]>> {
        match self.short_varint()? {
            1 => Some(None),
            negative if negative & 1 == 1 => None,
            twice => {
                let (taken, rest) = self.rest.split_at_checked((twice >> 1) as usize)?;
                self.rest = rest;
                Some(Some(taken))
            }
        }
    }

    fn unsigned(&mut self, longest: usize) -> Result<u64, CursorError> {
        let mut value = 0u64;
        for (index, &byte) in self.rest.iter().take(longest).enumerate() {
            let bits = u64::from(byte & 0x7f);
            let shift = 7 * index;
            if shift == 63 && bits > 1 {
                return Err(CursorError::Varint);
            }
            value |= bits << shift;
            if byte < 0x80 {
                self.rest = self.rest.get(index + 1..).unwrap_or_default();
                return Ok(value);
            }
        }
        Err(if self.rest.len() < longest {
            CursorError::End
        } else {
            CursorError::Varint
        })
    }

    /// Bytes behind a varint length; `None` for -1.
    pub(super) fn nullable_bytes(&mut self) -> Result<Option<&'a [u8]>, CursorError> {
        match self.varint()? {
            -1 => Ok(None),
            length => {
                let length = usize::try_from(length).map_err(|_| CursorError::End)?;
                self.take(length).map(Some)
            }
        }
    }
}

/// The number that zigzag bits stand for.
#[inline]
pub(super) fn zigzag(bits: u32) -> i32 {
    (bits >> 1).cast_signed() ^ -(bits & 1).cast_signed()
}

/// Appends a zigzag varint.
pub(super) fn put_varint(out: &mut Vec<u8>, value: i32) {
    put_unsigned(out, u64::from(((value << 1) ^ (value >> 31)).cast_unsigned()));
}

/// Appends a zigzag varint of 64 bits.
pub(super) fn put_varlong(out: &mut Vec<u8>, value: i64) {
    put_unsigned(out, ((value << 1) ^ (value >> 63)).cast_unsigned());
}

fn put_unsigned(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(u8::try_from(value & 0x7f).unwrap_or(0) | 0x80);
        value >>= 7;
    }
    out.push(u8::try_from(value).unwrap_or(0));
}

/// The bytes that [`put_varint`] takes for a value.
pub(super) fn varint_size(value: i32) -> usize {
    varlong_size(i64::from(value))
}

/// The bytes that [`put_varlong`] takes for a value.
pub(super) fn varlong_size(value: i64) -> usize {
    let raw = ((value << 1) ^ (value >> 63)).cast_unsigned();
    let bits = usize::try_from(64 - (raw | 1).leading_zeros()).unwrap_or(64);
    bits.div_ceil(7)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_varint_reads_back_and_takes_the_size_foretold(value: i32, long: i64) {
            let mut bytes = Vec::new();
            put_varint(&mut bytes, value);
            prop_assert_eq!(bytes.len(), varint_size(value));
            put_varlong(&mut bytes, long);
            prop_assert_eq!(bytes.len(), varint_size(value) + varlong_size(long));
            let mut cursor = Cursor::new(&bytes);
            prop_assert_eq!(cursor.varint(), Ok(value));
            prop_assert_eq!(cursor.varlong(), Ok(long));
            prop_assert_eq!(cursor.remaining(), 0);
        }
    }

    #[test]
    fn a_varint_too_long_or_with_overflow_bits_is_refused() {
        let refused = |bytes: &[u8]| Cursor::new(bytes).varint();
        assert_eq!(refused(&[0x80; 6]), Err(CursorError::Varint));
        assert_eq!(refused(&[0xff, 0xff, 0xff, 0xff, 0x10]), Err(CursorError::Varint));
        assert_eq!(refused(&[0xff, 0xff, 0xff, 0xff, 0x0f]), Ok(i32::MIN));
        assert_eq!(refused(&[0x80, 0x80]), Err(CursorError::End));
        let mut long = [0xffu8; 10];
        long[9] = 0x02;
        assert_eq!(Cursor::new(&long).varlong(), Err(CursorError::Varint));
        long[9] = 0x01;
        assert_eq!(Cursor::new(&long).varlong(), Ok(i64::MIN));
    }
}
