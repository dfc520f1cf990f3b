//! The load generator: librdkafka driven as cheaply as C would, one JSON line of figures at the end.
//!
//! Client and broker share the machine, so what the client burns is missing to the broker: the loops here call
//! librdkafka's own functions (`librdkafka.rs`), reuse their buffers and read the clock only where a latency is asked for.

mod consume;
mod latency;
mod librdkafka;
mod payload;
mod produce;
mod sockets;
mod stats;
mod topic;
mod window;

use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::{Args, Parser, Subcommand};

/// Drives a broker through librdkafka and prints figures as one line of JSON.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Creates a topic and waits until it has its leaders, or deletes it.
    Topic(topic::Options),
    /// Produces, flat out or at a rate.
    Produce(produce::Options),
    /// Reads a topic from the beginning.
    Consume(consume::Options),
    /// Sends at a rate, each record with the time it was meant to leave, and measures acknowledgement and arrival.
    Latency(latency::Options),
    /// Opens connections, talks once on each, and holds them until standard input ends.
    Idle(sockets::IdleOptions),
    /// Opens connections that ask for records and never read one, and holds them until standard input ends.
    Slow(sockets::SlowOptions),
}

/// What every client needs.
#[derive(Args)]
struct Target {
    /// The broker, HOST:PORT.
    #[arg(long)]
    bootstrap: String,
    #[arg(long)]
    topic: String,
    /// How many partitions the topic has.
    #[arg(long, default_value_t = 1)]
    partitions: u32,
    /// Settings of librdkafka.
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = setting)]
    settings: Vec<(String, String)>,
}

fn setting(text: &str) -> Result<(String, String)> {
    let (key, value) = text.split_once('=').context("a setting is KEY=VALUE")?;
    Ok((key.to_owned(), value.to_owned()))
}

fn main() -> ExitCode {
    let figures = match Arguments::parse().command {
        Command::Topic(options) => topic::run(&options),
        Command::Produce(options) => produce::run(&options),
        Command::Consume(options) => consume::run(&options),
        Command::Latency(options) => latency::run(&options),
        Command::Idle(options) => sockets::idle(&options),
        Command::Slow(options) => sockets::slow(&options),
    };
    match figures {
        Ok(figures) => {
            println!("{figures}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("load: {error:#}");
            ExitCode::FAILURE
        }
    }
}
