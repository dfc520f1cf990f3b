//! The ceiling: a broker that does only what no broker can leave out, so that a measured one has a limit to be held to.
//!
//! It accepts a connection, reads a frame, checks the CRC32C of the batch, gives it offsets, writes it to the one file
//! of its partition, wakes who waits, answers; a fetch is answered by `sendfile`. A thread serves each connection.
//! With `--durable` an acknowledgement of acks=all waits until a sync that began after the write has ended (group
//! commit), while the connection goes on with its next request; what acks=1 and acks=0 bring is synced too, but nobody
//! waits for it.
//!
//! What it leaves out, and a real broker may not: groups, transactions, idempotence, retention, segments, indexes on
//! disk, recovery (each start is empty), leader epochs, fetch sessions, quotas, flexible versions, validation beyond
//! the CRC, metrics, back pressure, and any protection from clients that mean harm. It speaks to librdkafka, not to Java.

mod connection;
mod fetch;
mod log;
mod metadata;
mod produce;
mod sync;
mod topics;
mod wire;

use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use anyhow::{Context as _, Result};
use clap::Parser;

use sync::Syncer;
use topics::Topics;

/// A broker that does nothing but what it must.
#[derive(Parser)]
struct Arguments {
    /// The port on 127.0.0.1.
    #[arg(long)]
    port: u16,
    /// The folder of the partitions' files; what is there already is not read.
    #[arg(long)]
    dir: PathBuf,
    /// Partitions of a topic that comes into being because a client asks for it.
    #[arg(long, default_value_t = 4)]
    partitions: u32,
    /// Acknowledge acks=all when it is on stable storage, not when it is in the page cache.
    #[arg(long)]
    durable: bool,
}

/// What the connections share.
struct Broker {
    port: u16,
    topics: Topics,
    /// What makes appends durable; none: the kernel writes them when it likes, and nothing waits for it.
    syncer: Option<Syncer>,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    std::fs::create_dir_all(&arguments.dir)
        .with_context(|| format!("cannot make {}", arguments.dir.display()))?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, arguments.port))
        .with_context(|| format!("cannot listen on port {}", arguments.port))?;
    let broker = Arc::new(Broker {
        port: arguments.port,
        topics: Topics::new(arguments.dir, arguments.partitions),
        syncer: arguments.durable.then(Syncer::default),
    });
    if broker.syncer.is_some() {
        let broker = broker.clone();
        thread::spawn(move || {
            while let Some(syncer) = &broker.syncer {
                syncer.round();
            }
        });
    }
    for stream in listener.incoming() {
        let stream = stream.context("cannot accept")?;
        let broker = broker.clone();
        thread::spawn(move || {
            if let Err(error) = connection::serve(&broker, stream) {
                eprintln!("ceiling: {error:#}");
            }
        });
    }
    Ok(())
}
