//! The queue over a real socket pair: what is pushed is what arrives, whatever the socket takes at a time.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use bytes::Bytes;
use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;
use wire::FileSource;

use super::*;

#[derive(Debug)]
struct Plain {
    file: File,
    has_descriptor: bool,
}

impl FileSource for Plain {
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.has_descriptor.then(|| self.file.as_fd())
    }

    fn read_exact_at(&self, buffer: &mut [u8], position: u64) -> io::Result<()> {
        self.file.read_exact_at(buffer, position)
    }
}

fn file_of(bytes: &[u8], has_descriptor: bool) -> Arc<dyn FileSource> {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    Arc::new(Plain { file, has_descriptor })
}

async fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let here = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    let (there, _) = listener.accept().await.unwrap();
    (here, there)
}

fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|i| (i * 31 % 251) as u8).collect()
}

async fn send_all(queue: &mut SendQueue, socket: &TcpStream, share: usize) -> io::Result<()> {
    loop {
        match queue.send(socket, &mut share.clone(), usize::MAX)? {
            Sent::All => return Ok(()),
            Sent::AtFile => {}
            Sent::Blocked => socket.writable().await?,
            Sent::Yield => tokio::task::yield_now().await,
        }
    }
}

#[tokio::test]
async fn memory_and_files_arrive_in_order_through_a_socket_that_blocks() {
    for has_descriptor in [true, false] {
        let (sender, mut receiver) = pair().await;
        let data = pattern(3_000_000);
        let source = file_of(&data, has_descriptor);
        let mut queue = SendQueue::default();
        let mut expect = Vec::new();
        for i in 0..40u8 {
            let head = vec![i; 100 + usize::from(i)];
            let (position, length) = (usize::from(i) * 1000, 200_000);
            let body = &data[position..position + length];
            expect.extend_from_slice(&head);
            expect.extend_from_slice(body);
            queue.push(vec![
                Segment::Bytes(head.into()),
                Segment::Bytes(Bytes::new()),
                Segment::File(FileRange {
                    source: source.clone(),
                    position: position as u64,
                    length,
                }),
            ]);
        }
        assert_eq!(queue.len(), expect.len());
        let total = expect.len();
        let reading = tokio::spawn(async move {
            let mut got = vec![0; total];
            receiver.read_exact(&mut got).await.unwrap();
            got
        });
        send_all(&mut queue, &sender, 150_000).await.unwrap();
        assert!(queue.is_empty());
        assert_eq!((queue.len(), queue.sent()), (0, total as u64));
        assert!(reading.await.unwrap() == expect, "descriptor: {has_descriptor}");
    }
}

#[tokio::test]
async fn more_small_frames_than_one_call_takes_arrive() {
    let (sender, mut receiver) = pair().await;
    let mut queue = SendQueue::default();
    for i in 0..1000u16 {
        queue.push(vec![Segment::Bytes(Bytes::copy_from_slice(&i.to_be_bytes()))]);
    }
    send_all(&mut queue, &sender, usize::MAX).await.unwrap();
    for i in 0..1000u16 {
        assert_eq!(receiver.read_u16().await.unwrap(), i);
    }
}

#[tokio::test]
async fn a_file_shorter_than_its_range_is_an_error_not_a_loop() {
    let (sender, _receiver) = pair().await;
    let mut queue = SendQueue::default();
    queue.push(vec![Segment::File(FileRange {
        source: file_of(b"short", true),
        position: 0,
        length: 100,
    })]);
    let error = send_all(&mut queue, &sender, usize::MAX).await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
}

#[tokio::test]
async fn no_more_of_a_file_leaves_than_was_allowed() {
    let (sender, mut receiver) = pair().await;
    let data = pattern(10_000);
    let file = |position: usize| {
        Segment::File(FileRange {
            source: file_of(&data, true),
            position: position as u64,
            length: 5_000,
        })
    };
    let mut queue = SendQueue::default();
    queue.push(vec![Segment::Bytes("head".into()), file(0), file(5_000)]);
    let mut left = Vec::new();
    for allowed in [1_000, 1_000, 3_000, usize::MAX, usize::MAX] {
        sender.writable().await.unwrap();
        let sent = queue.send(&sender, &mut 1_000_000, allowed).unwrap();
        left.push((queue.len(), sent));
    }
    let expect = [
        (10_000, Sent::AtFile),
        (9_000, Sent::AtFile),
        (6_000, Sent::AtFile),
        (5_000, Sent::AtFile),
        (0, Sent::All),
    ];
    assert_eq!(left, expect);
    let mut received = vec![0; 10_004];
    receiver.read_exact(&mut received).await.unwrap();
    assert!(received[4..] == data);
}
