//! The ceiling: a broker that does only what no broker can leave out, so that a measured one has a limit to be held to.
//!
//! It accepts a connection, reads a frame, checks the CRC32C of the batch, gives it offsets, writes it to the one file
//! of its partition, wakes who waits, answers; a fetch is answered by `sendfile`. A thread serves each connection.
//! With `--durable` an acknowledgement waits until a sync that began after the write has ended (group commit), while
//! the connection goes on with its next request.
//!
//! What it leaves out, and a real broker may not: groups, transactions, idempotence, retention, segments, indexes on
//! disk, recovery (each start is empty), leader epochs, fetch sessions, quotas, flexible versions, validation beyond
//! the CRC, metrics, back pressure, and any protection from clients that mean harm. It speaks to librdkafka, not to Java.

mod connection;
mod fetch;
mod log;
mod metadata;
mod produce;
mod topics;
mod wire;

use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use anyhow::{Context as _, Result};
use clap::Parser;

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
    /// Acknowledge what is on stable storage, not what is in the page cache.
    #[arg(long)]
    durable: bool,
}

/// When a produce is acknowledged.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Durability {
    /// After the write.
    PageCache,
    /// After a sync that covers the write.
    Synced,
}

/// What the connections share.
struct Broker {
    port: u16,
    durability: Durability,
    topics: Topics,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    std::fs::create_dir_all(&arguments.dir)
        .with_context(|| format!("cannot make {}", arguments.dir.display()))?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, arguments.port))
        .with_context(|| format!("cannot listen on port {}", arguments.port))?;
    let broker = Arc::new(Broker {
        port: arguments.port,
        durability: if arguments.durable {
            Durability::Synced
        } else {
            Durability::PageCache
        },
        topics: Topics::new(arguments.dir, arguments.partitions),
    });
    if broker.durability == Durability::Synced {
        let broker = broker.clone();
        thread::spawn(move || broker.topics.keep_syncing());
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
