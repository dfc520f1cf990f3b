//! `gracchus log`: look into the files of a data directory.

use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::{Args, Subcommand, ValueEnum};

use crate::log_dump::{Decoder, Findings, Indexes, Options, Records, Texts, dump_file};

#[derive(Debug, Subcommand)]
pub(crate) enum LogCommand {
    /// Print segments, indexes, snapshots and checkpoints as text
    Dump(DumpArgs),
}

#[derive(Debug, Args)]
pub(crate) struct DumpArgs {
    /// Files of a data directory, or folders of partitions
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// How much of a log to print
    #[arg(short, long, value_enum, default_value_t)]
    show: Show,
    /// How to read keys and values [default: by the name of the folder]
    #[arg(long, value_enum)]
    decoder: Option<DecoderName>,
    /// Read at most so many bytes of each log
    #[arg(long, value_name = "BYTES")]
    max_bytes: Option<u64>,
    /// Compare indexes with their logs, and print only what does not agree
    #[arg(long)]
    verify_indexes: bool,
}

/// How much of a log is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Show {
    /// A line of each batch
    Batches,
    /// A line of each record too
    Records,
    /// Records with their keys and values
    #[default]
    Contents,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum DecoderName {
    Text,
    Groups,
    Transactions,
    ShareState,
    Metadata,
}

pub(crate) fn run(command: &LogCommand) -> anyhow::Result<()> {
    let LogCommand::Dump(args) = command;
    let mut files = Vec::new();
    for path in &args.files {
        if path.is_dir() {
            let mut inside = std::fs::read_dir(path)
                .with_context(|| path.display().to_string())?
                .map(|entry| entry.map(|entry| entry.path()))
                .collect::<io::Result<Vec<PathBuf>>>()?;
            inside.retain(|path| path.is_file());
            inside.sort();
            files.extend(inside);
        } else {
            files.push(path.clone());
        }
    }
    dump_files(&files, |path| args.options(path))
}

impl DumpArgs {
    fn options(&self, path: &Path) -> Options {
        let decoder = match self.decoder {
            None => decoder_for(path),
            Some(DecoderName::Text) => Decoder::STRINGS,
            Some(DecoderName::Groups) => Decoder::Groups,
            Some(DecoderName::Transactions) => Decoder::Transactions,
            Some(DecoderName::ShareState) => Decoder::ShareState,
            Some(DecoderName::Metadata) => Decoder::Metadata,
        };
        Options {
            records: match self.show {
                Show::Batches => Records::None,
                Show::Records => Records::Outlines,
                Show::Contents => Records::Contents(decoder),
            },
            without_metadata: false,
            max_bytes: self.max_bytes,
            indexes: if self.verify_indexes {
                Indexes::Verify
            } else {
                Indexes::Print
            },
            texts: Texts::Print,
        }
    }
}

/// The decoder for a file by where it lies: snapshots are of the metadata log wherever they are.
fn decoder_for(path: &Path) -> Decoder {
    if path
        .extension()
        .is_some_and(|extension| extension == "checkpoint")
    {
        return Decoder::Metadata;
    }
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let folder = absolute.parent().and_then(Path::file_name).unwrap_or_default();
    Decoder::for_folder(&folder.to_string_lossy())
}

/// Prints files one after the other, and at the end what was wrong in any of them.
pub(crate) fn dump_files(files: &[PathBuf], options: impl Fn(&Path) -> Options) -> anyhow::Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    let mut findings = Findings::default();
    for path in files {
        writeln!(out, "Dumping {}", path.display())?;
        let known = dump_file(path, &options(path), &mut findings, &mut out)
            .with_context(|| format!("{} cannot be dumped", path.display()))?;
        if !known {
            out.flush()?;
            // Its name says nothing of its kind; that it is not there is a mistake all the same.
            path.metadata()
                .with_context(|| format!("{} cannot be dumped", path.display()))?;
            eprintln!("Ignoring unknown file {}", path.display());
        }
    }
    out.flush()?;
    eprint!("{findings}");
    Ok(())
}
