//! Writing a frame: small fields gather in one buffer, payloads stay where they are.
//!
//! What is finished is a list of segments: slices of the buffer and, between them, the payloads.

use bytes::Bytes;

use crate::error::EncodeError;
use crate::field::Form;
use crate::segment::{Records, Segment};

/// From this size on a payload is not copied but becomes a segment, in bytes.
const SEGMENT_MIN: usize = 512;

const LENGTH_PREFIX: usize = 4;

/// A frame in the making.
#[derive(Debug, Default)]
pub struct Writer {
    buffer: Vec<u8>,
    /// Payloads, each with the place in `buffer` it stands at.
    payloads: Vec<(usize, Segment)>,
    payload_bytes: usize,
}

impl Writer {
    /// An empty frame.
    pub fn new() -> Writer {
        Writer::default()
    }

    /// An empty frame behind room for its length, which [`Writer::finish_frame`] fills in.
    pub fn framed() -> Writer {
        let mut writer = Writer::new();
        writer.buffer.reserve(256);
        writer.put(&[0; LENGTH_PREFIX]);
        writer
    }

    /// The bytes written so far.
    pub fn len(&self) -> usize {
        self.buffer.len() + self.payload_bytes
    }

    /// Whether nothing is written yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends bytes as they are.
    pub fn put(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// Appends a payload: copied when small, kept as a segment of its own otherwise.
    pub fn put_payload(&mut self, payload: &Bytes) {
        if payload.len() < SEGMENT_MIN {
            self.put(payload);
        } else {
            self.put_segment(Segment::Bytes(payload.clone()));
        }
    }

    /// Appends record batches; those on disk stay there.
    pub fn put_records(&mut self, records: &Records) {
        for segment in records.segments() {
            match segment {
                Segment::Bytes(bytes) => self.put_payload(bytes),
                Segment::File(_) => self.put_segment(segment.clone()),
            }
        }
    }

    fn put_segment(&mut self, segment: Segment) {
        self.payload_bytes += segment.len();
        self.payloads.push((self.buffer.len(), segment));
    }

    /// Appends an unsigned varint.
    pub fn put_unsigned_varint(&mut self, value: u32) {
        self.put_base_128(u64::from(value));
    }

    /// Appends a zigzag varint.
    pub fn put_varint(&mut self, value: i32) {
        self.put_base_128(u64::from(((value << 1) ^ (value >> 31)).cast_unsigned()));
    }

    /// Appends a zigzag varint of 64 bits.
    pub fn put_varlong(&mut self, value: i64) {
        self.put_base_128(((value << 1) ^ (value >> 63)).cast_unsigned());
    }

    fn put_base_128(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.buffer.push((value & 0x7f) as u8 | 0x80);
            value >>= 7;
        }
        self.buffer.push(value as u8);
    }

    /// Appends the length of a string; `None` is null.
    pub fn put_string_length(&mut self, length: Option<usize>, form: Form) -> Result<(), EncodeError> {
        if form.flexible {
            return self.put_compact_length(length);
        }
        let length = match length {
            Some(length) => i16::try_from(length).map_err(|_| too_long(length, i16::MAX as usize))?,
            None => -1,
        };
        self.put(&length.to_be_bytes());
        Ok(())
    }

    /// Appends the length of bytes, records or an array; `None` is null.
    pub fn put_length(&mut self, length: Option<usize>, form: Form) -> Result<(), EncodeError> {
        if form.flexible {
            return self.put_compact_length(length);
        }
        let length = match length {
            Some(length) => i32::try_from(length).map_err(|_| too_long(length, i32::MAX as usize))?,
            None => -1,
        };
        self.put(&length.to_be_bytes());
        Ok(())
    }

    fn put_compact_length(&mut self, length: Option<usize>) -> Result<(), EncodeError> {
        let raw = match length {
            Some(length) if length >= i32::MAX as usize => {
                return Err(too_long(length, i32::MAX as usize - 1));
            }
            Some(length) => length as u32 + 1,
            None => 0,
        };
        self.put_unsigned_varint(raw);
        Ok(())
    }

    /// Appends a tagged field: tag, size, value.
    pub fn put_tagged(
        &mut self,
        tag: u32,
        write: impl FnOnce(&mut Writer) -> Result<(), EncodeError>,
    ) -> Result<(), EncodeError> {
        let mut value = Writer::new();
        write(&mut value)?;
        let size = u32::try_from(value.len()).map_err(|_| too_long(value.len(), u32::MAX as usize))?;
        self.put_unsigned_varint(tag);
        self.put_unsigned_varint(size);
        let start = self.buffer.len();
        self.put(&value.buffer);
        self.payload_bytes += value.payload_bytes;
        let moved = value.payloads.into_iter();
        self.payloads
            .extend(moved.map(|(at, segment)| (start + at, segment)));
        Ok(())
    }

    /// The segments of what was written, in order.
    pub fn finish(self) -> Vec<Segment> {
        let buffer = Bytes::from(self.buffer);
        let mut segments = Vec::with_capacity(2 * self.payloads.len() + 1);
        let mut start = 0;
        for (at, payload) in self.payloads {
            if at > start {
                segments.push(Segment::Bytes(buffer.slice(start..at)));
            }
            segments.push(payload);
            start = at;
        }
        if buffer.len() > start {
            segments.push(Segment::Bytes(buffer.slice(start..)));
        }
        segments
    }

    /// The segments of a frame begun with [`Writer::framed`], its length filled in.
    pub fn finish_frame(mut self) -> Result<Vec<Segment>, EncodeError> {
        let length = self.len().saturating_sub(LENGTH_PREFIX);
        let prefix = i32::try_from(length).map_err(|_| too_long(length, i32::MAX as usize))?;
        if let Some(room) = self.buffer.first_chunk_mut::<LENGTH_PREFIX>() {
            *room = prefix.to_be_bytes();
        }
        Ok(self.finish())
    }

    /// What was written as one piece; files are read.
    pub fn into_bytes(self) -> std::io::Result<Bytes> {
        if self.payloads.is_empty() {
            return Ok(self.buffer.into());
        }
        Records::from_segments(self.finish()).to_bytes()
    }
}

fn too_long(length: usize, limit: usize) -> EncodeError {
    EncodeError::TooLong { length, limit }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bytes::Bytes;

    use super::{SEGMENT_MIN, Writer};
    use crate::error::EncodeError;
    use crate::field::{Field as _, Form};
    use crate::message::Message as _;
    use crate::messages::fetch::{FetchResponse, FetchableTopicResponse, NodeEndpoint, PartitionData};
    use crate::segment::{FileRange, FileSource, Records, Segment};
    use crate::{Reader, Str};

    #[derive(Debug)]
    struct Zeros;

    impl FileSource for Zeros {
        fn descriptor(&self) -> Option<std::os::fd::BorrowedFd<'_>> {
            None
        }

        fn read_exact_at(&self, buffer: &mut [u8], _position: u64) -> std::io::Result<()> {
            buffer.fill(0);
            Ok(())
        }
    }

    fn file(length: usize) -> Segment {
        Segment::File(FileRange {
            source: Arc::new(Zeros),
            position: 7,
            length,
        })
    }

    fn response(records: Records) -> FetchResponse {
        let partition = PartitionData {
            records: Some(records),
            ..PartitionData::default()
        };
        FetchResponse {
            responses: vec![FetchableTopicResponse {
                partitions: vec![partition.clone(), partition],
                ..FetchableTopicResponse::default()
            }],
            ..FetchResponse::default()
        }
    }

    #[test]
    fn a_payload_is_not_copied_and_a_small_one_is() {
        let large = Bytes::from(vec![5; SEGMENT_MIN]);
        let small = Bytes::from(vec![6; SEGMENT_MIN - 1]);
        let mut writer = Writer::new();
        writer.put(b"abc");
        writer.put_payload(&large);
        writer.put_payload(&small);
        let segments = writer.finish();
        let [
            Segment::Bytes(before),
            Segment::Bytes(payload),
            Segment::Bytes(after),
        ] = segments.as_slice()
        else {
            panic!("three segments: {segments:?}");
        };
        assert_eq!(before, "abc");
        assert_eq!(payload.as_ptr(), large.as_ptr());
        assert_eq!(after, &small);
        assert_ne!(after.as_ptr(), small.as_ptr());
    }

    #[test]
    fn a_fetch_response_leaves_what_lies_on_disk_on_disk() {
        let mut writer = Writer::framed();
        let batches = Records::from_segments(vec![file(100), file(3)]);
        response(batches).encode(&mut writer, 18).unwrap();
        let length = writer.len();
        let segments = writer.finish_frame().unwrap();
        let files = segments.iter().filter_map(|segment| match segment {
            Segment::File(range) => Some(range.length),
            Segment::Bytes(_) => None,
        });
        assert_eq!(files.collect::<Vec<_>>(), [100, 3, 100, 3]);
        assert_eq!(segments.iter().map(Segment::len).sum::<usize>(), length);
        let frame = Records::from_segments(segments).to_bytes().unwrap();
        assert_eq!(frame[..4], u32::try_from(length - 4).unwrap().to_be_bytes());
        let decoded = FetchResponse::decode_all(frame.slice(4..), 18).unwrap();
        assert_eq!(decoded, response(Bytes::from(vec![0; 103]).into()));
    }

    #[test]
    fn a_payload_in_a_tagged_field_keeps_its_place() {
        let host = Str::from("h".repeat(SEGMENT_MIN));
        let message = FetchResponse {
            node_endpoints: vec![NodeEndpoint {
                host,
                ..NodeEndpoint::default()
            }],
            ..response(Bytes::from(vec![9; 2 * SEGMENT_MIN]).into())
        };
        let bytes = message.to_bytes(18).unwrap();
        assert_eq!(FetchResponse::decode_all(bytes, 18).unwrap(), message);
    }

    #[test]
    fn varints_of_every_length_come_back() {
        let mut writer = Writer::new();
        let numbers = (0..64).flat_map(|bit| {
            [
                1_i64 << bit,
                (1_i64 << bit).wrapping_sub(1),
                -(1_i64 << (bit % 63)),
            ]
        });
        let numbers: Vec<i64> = numbers.chain([0, i64::MAX, i64::MIN]).collect();
        for &number in &numbers {
            writer.put_varlong(number);
            writer.put_varint(number as i32);
            writer.put_unsigned_varint(number as u32);
        }
        let mut reader = Reader::new(writer.into_bytes().unwrap());
        for number in numbers {
            assert_eq!(reader.read_varlong(), Ok(number));
            assert_eq!(reader.read_varint(), Ok(number as i32));
            assert_eq!(reader.read_unsigned_varint(), Ok(number as u32));
        }
        assert_eq!(reader.remaining(), 0);
    }

    #[test]
    fn varints_are_written_as_kafka_writes_them() {
        let mut writer = Writer::new();
        for number in [0, -1, 1, 63, -64, 64, i32::MIN] {
            writer.put_varint(number);
        }
        let expected = [0, 1, 2, 126, 127, 0x80, 1, 0xff, 0xff, 0xff, 0xff, 0x0f];
        assert_eq!(writer.into_bytes().unwrap(), expected.as_slice());
    }

    #[test]
    fn a_string_beyond_its_length_field_is_refused() {
        let text = Str::from("x".repeat(1 << 15));
        let plain = Form {
            version: 0,
            flexible: false,
        };
        let outcome = text.write(&mut Writer::new(), plain);
        assert_eq!(
            outcome,
            Err(EncodeError::TooLong {
                length: 1 << 15,
                limit: (1 << 15) - 1
            })
        );
        let flexible = Form {
            flexible: true,
            ..plain
        };
        assert_eq!(text.write(&mut Writer::new(), flexible), Ok(()));
    }

    #[test]
    fn null_is_refused_where_the_version_knows_none() {
        use crate::messages::metadata::MetadataRequest;
        let all = MetadataRequest {
            topics: None,
            ..MetadataRequest::default()
        };
        let refused = EncodeError::Null {
            field: "topics",
            version: 0,
        };
        assert_eq!(all.to_bytes(0), Err(refused));
        assert!(all.to_bytes(1).is_ok());
    }
}
