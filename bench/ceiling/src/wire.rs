//! The old, inflexible encoding of Kafka's messages: big-endian numbers, strings and arrays with a length in front.

use anyhow::{Context as _, Result, bail};

/// Reads a request; an end that comes too soon is an error.
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { bytes, at: 0 }
    }

    /// How far it has read.
    pub(crate) fn position(&self) -> usize {
        self.at
    }

    /// What it has not read yet.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let end = self.at.checked_add(count).context("a length beyond reason")?;
        let bytes = self.bytes.get(self.at..end).context("a request ends too soon")?;
        self.at = end;
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        Ok(self.take(N)?.try_into()?)
    }

    pub(crate) fn i8(&mut self) -> Result<i8> {
        Ok(i8::from_be_bytes(self.array()?))
    }

    pub(crate) fn i16(&mut self) -> Result<i16> {
        Ok(i16::from_be_bytes(self.array()?))
    }

    pub(crate) fn i32(&mut self) -> Result<i32> {
        Ok(i32::from_be_bytes(self.array()?))
    }

    pub(crate) fn i64(&mut self) -> Result<i64> {
        Ok(i64::from_be_bytes(self.array()?))
    }

    /// A string; null reads as an empty one.
    pub(crate) fn string(&mut self) -> Result<&'a str> {
        let length = self.i16()?.max(0);
        Ok(std::str::from_utf8(self.take(usize::try_from(length)?)?)?)
    }

    /// Bytes; null reads as none.
    pub(crate) fn bytes(&mut self) -> Result<&'a [u8]> {
        let length = self.i32()?.max(0);
        self.take(usize::try_from(length)?)
    }

    /// The elements of an array, one call of `element` each; null reads as an empty one.
    pub(crate) fn list<T>(&mut self, mut element: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let count = self.i32()?;
        // An element has a byte at least: a count that cannot be true allocates nothing.
        if usize::try_from(count).unwrap_or(0) > self.rest().len() {
            bail!(
                "an array of {count} elements in a request of {} bytes",
                self.bytes.len()
            );
        }
        (0..count).map(|_| element(self)).collect()
    }
}

/// Writes a response, with room for its length in front.
pub(crate) struct Writer(Vec<u8>);

impl Writer {
    /// The beginning of the response to a request.
    pub(crate) fn response(correlation: i32) -> Writer {
        let mut writer = Writer(Vec::with_capacity(512));
        writer.i32(0);
        writer.i32(correlation);
        writer
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn i8(&mut self, value: i8) {
        self.0.extend(value.to_be_bytes());
    }

    pub(crate) fn i16(&mut self, value: i16) {
        self.0.extend(value.to_be_bytes());
    }

    pub(crate) fn i32(&mut self, value: i32) {
        self.0.extend(value.to_be_bytes());
    }

    pub(crate) fn i64(&mut self, value: i64) {
        self.0.extend(value.to_be_bytes());
    }

    /// The length of what follows; nothing here is long enough to be cut.
    pub(crate) fn count(&mut self, count: usize) {
        self.i32(count as i32);
    }

    pub(crate) fn string(&mut self, text: &str) {
        self.i16(text.len() as i16);
        self.0.extend(text.as_bytes());
    }

    /// What was written so far; the writer begins again.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.0)
    }

    /// The whole frame.
    pub(crate) fn finish(self) -> Vec<u8> {
        let mut frame = self.0;
        let length = frame.len();
        set_length(&mut frame, length);
        frame
    }
}

/// Writes the length of a frame into its beginning.
pub(crate) fn set_length(beginning: &mut [u8], frame: usize) {
    if let Some(place) = beginning.first_chunk_mut::<4>() {
        *place = ((frame - 4) as u32).to_be_bytes();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read() {
        let mut writer = Writer::response(7);
        writer.string("topic");
        writer.count(2);
        writer.i64(-1);
        writer.i64(5);
        let frame = writer.finish();
        let mut reader = Reader::new(&frame);
        assert_eq!(reader.i32().unwrap() as usize, frame.len() - 4);
        assert_eq!(reader.i32().unwrap(), 7);
        assert_eq!(reader.string().unwrap(), "topic");
        assert_eq!(reader.list(Reader::i64).unwrap(), [-1, 5]);
        assert_eq!(reader.position(), frame.len());
    }

    #[test]
    fn a_count_that_cannot_be_true_is_an_error() {
        assert!(Reader::new(&i32::MAX.to_be_bytes()).list(Reader::i8).is_err());
        assert!(Reader::new(&[0, 9, b'a']).string().is_err());
    }
}
