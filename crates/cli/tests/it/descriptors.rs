//! A broker that has run out of open files: nothing is lost, and it goes on by itself once there are some (rule 111).

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

use crate::gracchus::{Dev, begin};

/// What the broker may open. It takes connections for at most half of that, and no more than leave 256 for files.
const DESCRIPTORS: usize = 400;
/// Each keeps one file open: together with as many connections more than fits, alone less.
const PARTITIONS: usize = 250;
const CONNECTIONS: usize = 130;

/// An ApiVersions request of version 0 without a client id.
const API_VERSIONS: [u8; 14] = [0, 0, 0, 10, 0, 18, 0, 0, 0, 0, 0, 7, 0xff, 0xff];

fn connect(dev: &Dev) -> TcpStream {
    let mut socket = TcpStream::connect(&dev.server).unwrap();
    socket.write_all(&API_VERSIONS).unwrap();
    socket
}

/// Whether an answer to [`API_VERSIONS`] comes in time; reads it.
fn is_answered(mut socket: &TcpStream, patience: Duration) -> bool {
    socket.set_read_timeout(Some(patience)).unwrap();
    let mut length = [0; 4];
    if socket.read_exact(&mut length).is_err() {
        return false;
    }
    let mut answer = vec![0; usize::try_from(u32::from_be_bytes(length)).unwrap()];
    socket.read_exact(&mut answer).unwrap();
    true
}

/// Whether the first segment of a partition holds anything.
fn has_a_record(folder: &Path) -> bool {
    let partitions = std::fs::read_dir(folder.join("data")).unwrap().flatten();
    let logs = partitions.map(|entry| entry.path().join("00000000000000000000.log"));
    logs.filter(|log| !log.to_string_lossy().contains("__"))
        .any(|log| std::fs::metadata(log).is_ok_and(|log| log.len() > 0))
}

#[test]
fn a_broker_without_descriptors_serves_whom_it_has_and_goes_on_when_there_are_some() {
    const PATIENCE: Duration = Duration::from_secs(20);
    let dev = Dev::start_with_descriptors(DESCRIPTORS);
    let mut held: Vec<TcpStream> = (0..CONNECTIONS).map(|_| connect(&dev)).collect();
    assert!(held.iter().all(|socket| is_answered(socket, PATIENCE)));
    dev.run(&["topic", "create", "u", "-p", "8"]).ok();
    dev.run(&["topic", "create", "t", "-p", &PARTITIONS.to_string()])
        .ok();

    let mut producer = begin(&["produce", "u", "-K", ":", "-b", &dev.server]);
    let mut records = producer.stdin.take().unwrap();
    records.write_all(b"first:x\n").unwrap();
    records.flush().unwrap();
    while !has_a_record(dev.folder.path()) {
        std::thread::sleep(Duration::from_millis(10));
    }
    let waiting: Vec<TcpStream> = (0..14).map(|_| connect(&dev)).collect();
    assert!(
        !is_answered(&waiting[13], Duration::from_millis(300)),
        "it had descriptors left"
    );
    held[0].write_all(&API_VERSIONS).unwrap();
    assert!(is_answered(&held[0], PATIENCE), "who is connected is served");

    // More dirty partitions than are synced one by one: they ask for a journal, which cannot be opened.
    for key in 0..100 {
        writeln!(records, "{key}:x").unwrap();
    }
    drop(records);
    assert!(
        producer.wait().unwrap().success(),
        "a sync needs no more than there is"
    );
    held[0].write_all(&API_VERSIONS).unwrap();
    assert!(is_answered(&held[0], PATIENCE), "the broker goes on");

    held.truncate(1);
    assert!(is_answered(&waiting[13], PATIENCE), "who waited is taken");
    drop(waiting);
    // Asks every partition, those among them that could not be made at first.
    assert_eq!(dev.run(&["consume", "t", "-e", "-f"]).ok(), "");
    assert_eq!(dev.run(&["consume", "u", "-e", "-f"]).ok().lines().count(), 101);
    let last = (PARTITIONS - 1).to_string();
    dev.run(&["produce", "t", "-v", "x", "-p", &last]).ok();
    assert_eq!(dev.run(&["consume", "t", "-e", "-f"]).ok(), "x\n");
}
