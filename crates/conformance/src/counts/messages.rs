//! The requests of the trace, as bytes: what a current client sends, written down field by field.

use anyhow::{Result, bail};

/// Names the requests' client.
const CLIENT: &str = "counts";

/// A request under way to its frame.
pub(super) struct Frame(Vec<u8>);

impl Frame {
    /// The header of a flexible version.
    fn new(key: i16, version: i16) -> Frame {
        let mut frame = Frame(vec![0; 4]);
        frame.i16(key);
        frame.i16(version);
        frame.i32(7);
        frame.i16(CLIENT.len() as i16);
        frame.0.extend_from_slice(CLIENT.as_bytes());
        frame.end();
        frame
    }

    fn i8(&mut self, value: i8) {
        self.0.extend_from_slice(&value.to_be_bytes());
    }

    fn i16(&mut self, value: i16) {
        self.0.extend_from_slice(&value.to_be_bytes());
    }

    fn i32(&mut self, value: i32) {
        self.0.extend_from_slice(&value.to_be_bytes());
    }

    fn i64(&mut self, value: i64) {
        self.0.extend_from_slice(&value.to_be_bytes());
    }

    fn varint(&mut self, mut value: usize) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    /// The length of a compact array.
    fn array(&mut self, count: usize) {
        self.varint(count + 1);
    }

    /// A compact string, or compact bytes.
    fn bytes(&mut self, value: &[u8]) {
        self.varint(value.len() + 1);
        self.0.extend_from_slice(value);
    }

    /// No tagged fields.
    fn end(&mut self) {
        self.0.push(0);
    }

    fn finish(mut self) -> Vec<u8> {
        let length = (self.0.len() - 4) as u32;
        if let Some(field) = self.0.first_chunk_mut() {
            *field = length.to_be_bytes();
        }
        self.0
    }
}

/// Produce 9 of one batch to each of so many partitions.
pub(super) fn produce(topic: &str, acks: i16, partitions: i32, batch: &[u8]) -> Vec<u8> {
    let mut frame = Frame::new(0, 9);
    frame.varint(0);
    frame.i16(acks);
    frame.i32(30_000);
    frame.array(1);
    frame.bytes(topic.as_bytes());
    frame.array(partitions as usize);
    for partition in 0..partitions {
        frame.i32(partition);
        frame.bytes(batch);
        frame.end();
    }
    frame.end();
    frame.end();
    frame.finish()
}

/// What a fetch asks for.
#[derive(Clone, Copy)]
pub(super) struct Fetch<'a> {
    pub(super) topic: &'a str,
    /// Partitions from 0 on; none in a later round of a session.
    pub(super) partitions: i32,
    pub(super) offset: i64,
    pub(super) max_bytes: i32,
    pub(super) max_wait_ms: i32,
    /// The session's id and epoch; 0 and -1 for none.
    pub(super) session: (i32, i32),
}

/// Fetch 12.
pub(super) fn fetch(fetch: Fetch<'_>) -> Vec<u8> {
    let mut frame = Frame::new(1, 12);
    frame.i32(-1);
    frame.i32(fetch.max_wait_ms);
    frame.i32(1);
    frame.i32(fetch.max_bytes);
    frame.i8(0);
    frame.i32(fetch.session.0);
    frame.i32(fetch.session.1);
    frame.array(usize::from(fetch.partitions > 0));
    if fetch.partitions > 0 {
        frame.bytes(fetch.topic.as_bytes());
        frame.array(fetch.partitions as usize);
        for partition in 0..fetch.partitions {
            frame.i32(partition);
            frame.i32(-1);
            frame.i64(fetch.offset);
            frame.i32(-1);
            frame.i64(-1);
            frame.i32(fetch.max_bytes);
            frame.end();
        }
        frame.end();
    }
    frame.array(0);
    frame.bytes(b"");
    frame.end();
    frame.finish()
}

/// Metadata 12 of one topic.
pub(super) fn metadata(topic: &str) -> Vec<u8> {
    let mut frame = Frame::new(3, 12);
    frame.array(1);
    frame.i64(0);
    frame.i64(0);
    frame.bytes(topic.as_bytes());
    frame.end();
    frame.i8(0);
    frame.i8(0);
    frame.end();
    frame.finish()
}

/// FindCoordinator 3 of a group.
pub(super) fn find_coordinator(group: &str) -> Vec<u8> {
    let mut frame = Frame::new(10, 3);
    frame.bytes(group.as_bytes());
    frame.i8(0);
    frame.end();
    frame.finish()
}

/// JoinGroup 6 of a member; a new one has no id.
pub(super) fn join_group(group: &str, member: &str) -> Vec<u8> {
    let mut frame = Frame::new(11, 6);
    frame.bytes(group.as_bytes());
    frame.i32(1_800_000);
    frame.i32(1_800_000);
    frame.bytes(member.as_bytes());
    frame.varint(0);
    frame.bytes(b"consumer");
    frame.array(1);
    frame.bytes(b"range");
    frame.bytes(b"");
    frame.end();
    frame.end();
    frame.finish()
}

/// SyncGroup 4 of the only member.
pub(super) fn sync_group(group: &str, generation: i32, member: &str) -> Vec<u8> {
    let mut frame = Frame::new(14, 4);
    frame.bytes(group.as_bytes());
    frame.i32(generation);
    frame.bytes(member.as_bytes());
    frame.varint(0);
    frame.array(1);
    frame.bytes(member.as_bytes());
    frame.bytes(b"");
    frame.end();
    frame.end();
    frame.finish()
}

/// Heartbeat 4.
pub(super) fn heartbeat(group: &str, generation: i32, member: &str) -> Vec<u8> {
    let mut frame = Frame::new(12, 4);
    frame.bytes(group.as_bytes());
    frame.i32(generation);
    frame.bytes(member.as_bytes());
    frame.varint(0);
    frame.end();
    frame.finish()
}

/// A batch of at most `size` bytes, of records with values of 200 bytes.
pub(super) fn batch(size: usize, now_ms: i64) -> Vec<u8> {
    const VALUE: [u8; 200] = [b'v'; 200];
    let mut records = Frame(Vec::new());
    let mut count = 0;
    while 61 + records.0.len() + 212 <= size || count == 0 {
        let mut record = Frame(Vec::new());
        record.i8(0);
        record.varint(0);
        // Zigzag, as all numbers of a record.
        record.varint(count as usize * 2);
        record.varint(1);
        record.varint(VALUE.len() * 2);
        record.0.extend_from_slice(&VALUE);
        record.varint(0);
        records.varint(record.0.len() * 2);
        records.0.extend_from_slice(&record.0);
        count += 1;
    }
    let mut covered = Frame(Vec::new());
    covered.i16(0);
    covered.i32(count - 1);
    covered.i64(now_ms);
    covered.i64(now_ms);
    covered.i64(-1);
    covered.i16(-1);
    covered.i32(-1);
    covered.i32(count);
    covered.0.extend_from_slice(&records.0);
    let mut batch = Frame(Vec::new());
    batch.i64(0);
    batch.i32((covered.0.len() + 9) as i32);
    batch.i32(-1);
    batch.i8(2);
    batch
        .0
        .extend_from_slice(&crc32c::crc32c(&covered.0).to_be_bytes());
    batch.0.extend_from_slice(&covered.0);
    batch.0
}

/// An answer, read from its front.
pub(super) struct Answer<'a>(&'a [u8]);

impl<'a> Answer<'a> {
    /// Behind the header of a flexible version.
    pub(super) fn new(answer: &'a [u8]) -> Answer<'a> {
        Answer(answer.get(5..).unwrap_or_default())
    }

    pub(super) fn number<const N: usize>(&mut self) -> Result<[u8; N]> {
        let Some((number, rest)) = self.0.split_first_chunk() else {
            bail!("an answer ends too soon");
        };
        self.0 = rest;
        Ok(*number)
    }

    pub(super) fn i16(&mut self) -> Result<i16> {
        self.number().map(i16::from_be_bytes)
    }

    pub(super) fn i32(&mut self) -> Result<i32> {
        self.number().map(i32::from_be_bytes)
    }

    /// A compact string of at most 126 bytes.
    pub(super) fn string(&mut self) -> Result<String> {
        let [length] = self.number()?;
        let length = usize::from(length).saturating_sub(1);
        let Some((bytes, rest)) = self.0.split_at_checked(length) else {
            bail!("an answer ends too soon");
        };
        self.0 = rest;
        Ok(String::from_utf8(bytes.to_vec())?)
    }

    /// Fails unless the next number is no error.
    pub(super) fn no_error(&mut self) -> Result<()> {
        match self.i16()? {
            0 => Ok(()),
            code => bail!("the broker answers with error {code}"),
        }
    }
}
