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
use crate::{Broker, fetch, metadata, produce};

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

    /// Whether nothing is pending, so that a reply written now overtakes none.
    fn is_idle(&self) -> bool {
        self.outstanding.load(Ordering::SeqCst) == 0
    }

    fn push(&self, pending: Pending) -> Result<()> {
        self.outstanding.fetch_add(1, Ordering::SeqCst);
        Ok(self.sender.send(pending)?)
    }

    /// Waits until nothing is pending: other replies must not overtake. Clients hardly mix them on one connection.
    fn wait_idle(&self) {
        while !self.is_idle() {
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
    let acknowledger = match &broker.syncer {
        Some(_) => Some(Acknowledger::start(stream.try_clone()?)),
        None => None,
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
                Some(acknowledger) if !waits_for.is_empty() || !acknowledger.is_idle() => {
                    acknowledger.push(Pending { waits_for, reply })?;
                }
                _ => stream.write_all(&reply)?,
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

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::time::Duration;

    use super::*;
    use crate::log::tests::batch;
    use crate::sync::Syncer;
    use crate::topics::Topics;

    /// A durable broker without the thread that syncs, and a client's connection to it.
    fn durable(dir: &std::path::Path) -> (Arc<Broker>, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let broker = Arc::new(Broker {
            port: address.port(),
            topics: Topics::new(dir.to_owned(), 1),
            syncer: Some(Syncer::default()),
        });
        let client = TcpStream::connect(address).unwrap();
        let (stream, _) = listener.accept().unwrap();
        let served = broker.clone();
        thread::spawn(move || serve(&served, stream));
        (broker, client)
    }

    /// Produces a batch, whose request is called `correlation`.
    fn produce(client: &mut TcpStream, correlation: i32, acks: i16) {
        // Behind the length and the correlation of a response stands what a request has behind its length.
        let mut writer = Writer::response(0);
        writer.i16(produce::KEY);
        writer.i16(3);
        writer.i32(correlation);
        writer.string("test");
        writer.string("");
        writer.i16(acks);
        writer.i32(1_000);
        writer.count(1);
        writer.string("topic");
        writer.count(1);
        writer.i32(0);
        let batch = batch(1, 100);
        writer.count(batch.len());
        let body = [&writer.take()[8..], &batch].concat();
        client.write_all(&(body.len() as u32).to_be_bytes()).unwrap();
        client.write_all(&body).unwrap();
    }

    /// The correlation of the next reply.
    fn reply(client: &mut TcpStream) -> std::io::Result<i32> {
        let mut length = [0; 4];
        client.read_exact(&mut length)?;
        let mut frame = vec![0; u32::from_be_bytes(length) as usize];
        client.read_exact(&mut frame)?;
        Ok(Reader::new(&frame).i32().unwrap())
    }

    #[test]
    fn only_acks_all_waits_for_the_sync_and_replies_keep_their_order() {
        let dir = std::env::temp_dir().join(format!("ceiling-{}-serve", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let (broker, mut client) = durable(&dir);
        let wait = |client: &TcpStream, milliseconds| {
            let limit = Duration::from_millis(milliseconds);
            client.set_read_timeout(Some(limit)).unwrap();
        };
        wait(&client, 30_000);
        produce(&mut client, 1, 1);
        assert_eq!(reply(&mut client).unwrap(), 1);
        produce(&mut client, 2, -1);
        produce(&mut client, 3, 1);
        wait(&client, 100);
        assert!(reply(&mut client).is_err(), "nothing is on stable storage yet");
        wait(&client, 30_000);
        thread::spawn(move || {
            loop {
                broker.syncer.as_ref().unwrap().round();
            }
        });
        assert_eq!(reply(&mut client).unwrap(), 2);
        assert_eq!(reply(&mut client).unwrap(), 3);
        std::fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn what_gathers_while_nothing_is_synced_is_one_round() {
        let dir = std::env::temp_dir().join(format!("ceiling-{}-round", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let (broker, mut client) = durable(&dir);
        for correlation in 1..=3 {
            produce(&mut client, correlation, 1);
            assert_eq!(reply(&mut client).unwrap(), correlation);
        }
        let syncer = broker.syncer.as_ref().unwrap();
        assert_eq!(syncer.waiting(), 1, "a partition is on the list once");
        syncer.round();
        broker.topics.get("topic").unwrap()[0].wait_synced(3);
        produce(&mut client, 4, 0);
        produce(&mut client, 5, 1);
        assert_eq!(reply(&mut client).unwrap(), 5);
        assert_eq!(syncer.waiting(), 1, "acks=0 is synced as well");
        std::fs::remove_dir_all(dir).unwrap();
    }
}
