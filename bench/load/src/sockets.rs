//! Connections without a client library: idle ones, and consumers that never drain their socket.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use anyhow::{Context as _, Result};
use clap::Args;
use serde_json::{Value, json};

use crate::Target;

/// Bytes a fetch may bring, and of one partition.
const FETCH_BYTES: i32 = 50 << 20;

#[derive(Args)]
pub(crate) struct IdleOptions {
    /// The broker, HOST:PORT.
    #[arg(long)]
    bootstrap: String,
    #[arg(long)]
    connections: u32,
}

#[derive(Args)]
pub(crate) struct SlowOptions {
    #[command(flatten)]
    target: Target,
    #[arg(long)]
    connections: u32,
    /// Fetches that each connection sends without reading an answer.
    #[arg(long, default_value_t = 20)]
    fetches: u32,
}

/// Opens connections that have asked for the versions once, as every client does, and say nothing more.
pub(crate) fn idle(options: &IdleOptions) -> Result<Value> {
    let mut streams = Vec::new();
    for _ in 0..options.connections {
        let mut stream = connect(&options.bootstrap)?;
        stream.write_all(&request(18, 0, &[]))?;
        let mut length = [0; 4];
        stream.read_exact(&mut length)?;
        let mut answer = vec![0; u32::from_be_bytes(length).min(1 << 20) as usize];
        stream.read_exact(&mut answer)?;
        streams.push(stream);
    }
    hold(streams)
}

/// Opens connections that ask for a partition from its beginning, again and again, and never read.
pub(crate) fn slow(options: &SlowOptions) -> Result<Value> {
    let mut streams = Vec::new();
    for index in 0..options.connections {
        let mut stream = connect(&options.target.bootstrap)?;
        let partition = index % options.target.partitions;
        for _ in 0..options.fetches {
            stream.write_all(&request(1, 4, &fetch(&options.target.topic, partition as i32)))?;
        }
        streams.push(stream);
    }
    hold(streams)
}

fn connect(bootstrap: &str) -> Result<TcpStream> {
    TcpStream::connect(bootstrap).with_context(|| format!("cannot connect to {bootstrap}"))
}

/// Says that all is set up, and keeps the connections until standard input ends.
fn hold(streams: Vec<TcpStream>) -> Result<Value> {
    println!("{}", json!({"ready": streams.len()}));
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(json!({"held": streams.len()}))
}

fn request(key: i16, version: i16, body: &[u8]) -> Vec<u8> {
    let mut head = Vec::new();
    head.extend(key.to_be_bytes());
    head.extend(version.to_be_bytes());
    head.extend(1_i32.to_be_bytes());
    head.extend(string("bench"));
    let mut frame = ((head.len() + body.len()) as u32).to_be_bytes().to_vec();
    frame.extend(head);
    frame.extend(body);
    frame
}

/// Fetch, version 4: one partition from offset 0, waiting for nothing.
fn fetch(topic: &str, partition: i32) -> Vec<u8> {
    let mut body = Vec::new();
    for value in [-1_i32, 0, 1, FETCH_BYTES] {
        body.extend(value.to_be_bytes()); // no replica, wait, least and most bytes
    }
    body.push(0); // read uncommitted
    body.extend(1_i32.to_be_bytes());
    body.extend(string(topic));
    body.extend(1_i32.to_be_bytes());
    body.extend(partition.to_be_bytes());
    body.extend(0_i64.to_be_bytes());
    body.extend(FETCH_BYTES.to_be_bytes());
    body
}

fn string(text: &str) -> Vec<u8> {
    let mut bytes = (text.len() as u16).to_be_bytes().to_vec();
    bytes.extend(text.as_bytes());
    bytes
}
