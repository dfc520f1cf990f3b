//! One connection: frames in, replies out in the order of their requests.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use anyhow::{Result, bail};

use crate::log::Partition;
use crate::wire::{Reader, Writer};
use crate::{Broker, Durability, fetch, metadata, produce};

/// The least room that a connection keeps for requests.
const BUFFER_MIN: usize = 64 << 10;
/// The longest request, as in Kafka.
const REQUEST_MAX: usize = 100 << 20;

/// The head of a request, and where its body is in the frame.
pub(crate) struct Request {
    pub(crate) key: i16,
    pub(crate) version: i16,
    pub(crate) correlation: i32,
    body: usize,
}

impl Request {
    fn read(frame: &[u8]) -> Result<Request> {
        let mut reader = Reader::new(frame);
        let (key, version, correlation) = (reader.i16()?, reader.i16()?, reader.i32()?);
        reader.string()?; // the client's id
        Ok(Request {
            key,
            version,
            correlation,
            body: reader.position(),
        })
    }
}

/// A reply that leaves when what it acknowledges is durable.
struct Pending {
    waits_for: Vec<(Arc<Partition>, i64)>,
    reply: Vec<u8>,
}

/// The thread that sends what is pending, in order, while the connection reads on.
struct Acknowledger {
    sender: Sender<Pending>,
    outstanding: Arc<AtomicUsize>,
}

impl Acknowledger {
    fn start(stream: TcpStream) -> Acknowledger {
        let (sender, receiver) = channel();
        let outstanding = Arc::new(AtomicUsize::new(0));
        let counter = outstanding.clone();
        thread::spawn(move || acknowledge(stream, &receiver, &counter));
        Acknowledger { sender, outstanding }
    }

    fn push(&self, pending: Pending) -> Result<()> {
        self.outstanding.fetch_add(1, Ordering::SeqCst);
        Ok(self.sender.send(pending)?)
    }

    /// Waits until nothing is pending: other replies must not overtake. Clients hardly mix them on one connection.
    fn wait_idle(&self) {
        while self.outstanding.load(Ordering::SeqCst) > 0 {
            thread::yield_now();
        }
    }
}

fn acknowledge(mut stream: TcpStream, pending: &Receiver<Pending>, outstanding: &AtomicUsize) {
    while let Ok(Pending { waits_for, reply }) = pending.recv() {
        for (partition, offset) in waits_for {
            partition.wait_synced(offset);
        }
        if stream.write_all(&reply).is_err() {
            return; // the connection's thread finds out by itself
        }
        outstanding.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Serves a connection until the client closes it.
pub(crate) fn serve(broker: &Broker, mut stream: TcpStream) -> Result<()> {
    stream.set_nodelay(true)?;
    let acknowledger = match broker.durability {
        Durability::PageCache => None,
        Durability::Synced => Some(Acknowledger::start(stream.try_clone()?)),
    };
    let mut buffer = Vec::new();
    while let Some(frame) = next_frame(&mut stream, &mut buffer)? {
        let request = Request::read(frame)?;
        let body = &mut frame[request.body..];
        if request.key == produce::KEY {
            let Some((reply, waits_for)) = produce::answer(broker, &request, body)? else {
                continue; // acks=0
            };
            match &acknowledger {
                Some(acknowledger) => acknowledger.push(Pending { waits_for, reply })?,
                None => stream.write_all(&reply)?,
            }
            continue;
        }
        if let Some(acknowledger) = &acknowledger {
            acknowledger.wait_idle();
        }
        if request.key == fetch::KEY {
            fetch::answer(broker, &request, body, &stream)?;
            continue;
        }
        let mut writer = Writer::response(request.correlation);
        metadata::answer(broker, &request, body, &mut writer)?;
        stream.write_all(&writer.finish())?;
    }
    Ok(())
}

/// The next request, or nothing when the client has gone.
fn next_frame<'a>(stream: &mut TcpStream, buffer: &'a mut Vec<u8>) -> Result<Option<&'a mut [u8]>> {
    let mut head = [0; 4];
    match stream.read_exact(&mut head) {
        Ok(()) => {}
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset
            ) =>
        {
            return Ok(None);
        }
        Err(error) => return Err(error.into()),
    }
    let length = u32::from_be_bytes(head) as usize;
    if length > REQUEST_MAX {
        bail!("a request of {length} bytes");
    }
    if buffer.len() < length {
        buffer.resize(length.max(BUFFER_MIN), 0);
    }
    let frame = &mut buffer[..length];
    stream.read_exact(frame)?;
    Ok(Some(frame))
}
