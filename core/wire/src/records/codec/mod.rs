//! The codecs, each bounded: what is decompressed never grows past the limit that the caller sets.
//!
//! What is written here must be readable by Kafka's own clients: gzip as such; snappy in the framing of xerial's Java
//! library; an lz4 frame of independent 64 KiB blocks; a zstd frame.

mod gzip;
mod lz4;
mod snappy;
mod zstd;

use bytes::Bytes;

/// How records are compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Codec {
    /// Not at all.
    #[default]
    None,
    /// gzip.
    Gzip,
    /// snappy.
    Snappy,
    /// lz4 frames.
    Lz4,
    /// zstd.
    Zstd,
}

impl Codec {
    /// All of them, in the order of their ids.
    pub const ALL: [Codec; 5] = [Codec::None, Codec::Gzip, Codec::Snappy, Codec::Lz4, Codec::Zstd];

    /// The id in a batch's attributes.
    pub fn id(self) -> i8 {
        self as i8
    }

    /// The codec of an id; 5 to 7 fit the field, but name none.
    pub fn from_id(id: i8) -> Result<Codec, CodecError> {
        Self::ALL
            .into_iter()
            .find(|codec| codec.id() == id)
            .ok_or(CodecError::UnknownCodec(id))
    }

    /// The name in configurations and dumps.
    pub fn name(self) -> &'static str {
        match self {
            Codec::None => "none",
            Codec::Gzip => "gzip",
            Codec::Snappy => "snappy",
            Codec::Lz4 => "lz4",
            Codec::Zstd => "zstd",
        }
    }

    /// The codec of a name.
    pub fn from_name(name: &str) -> Option<Codec> {
        Self::ALL.into_iter().find(|codec| codec.name() == name)
    }
}

/// A codec and how hard it should try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compression {
    /// The codec.
    pub codec: Codec,
    /// The codec's own level (gzip 1 to 9, zstd -131072 to 22); snappy has none, lz4 always works at its fastest.
    pub level: i32,
}

impl Compression {
    /// No compression.
    pub const NONE: Compression = Compression {
        codec: Codec::None,
        level: 0,
    };

    /// The codec at Kafka's default level.
    pub fn of(codec: Codec) -> Compression {
        let level = match codec {
            Codec::None | Codec::Snappy => 0,
            Codec::Gzip => 6,
            Codec::Lz4 => 9,
            Codec::Zstd => 3,
        };
        Compression { codec, level }
    }
}

/// What goes wrong in a codec.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CodecError {
    /// No codec has this id.
    #[error("there is no compression codec {0}")]
    UnknownCodec(i8),
    /// The data is not what the codec writes.
    #[error("broken {codec} data: {what}")]
    Broken {
        /// The codec's name.
        codec: &'static str,
        /// What does not fit.
        what: String,
    },
    /// The data would grow past the limit (bad input, row 30).
    #[error("decompressed data would exceed {limit} bytes")]
    TooLarge {
        /// The limit for this input.
        limit: usize,
    },
}

impl CodecError {
    fn broken(codec: Codec, what: impl std::fmt::Display) -> CodecError {
        CodecError::Broken {
            codec: codec.name(),
            what: what.to_string(),
        }
    }
}

/// How far data may grow: `min(max_bytes, ratio * input + 1 MiB)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecompressionLimit {
    /// The most bytes of one batch.
    pub max_bytes: usize,
    /// The most bytes out per byte in.
    pub ratio: usize,
}

impl Default for DecompressionLimit {
    fn default() -> DecompressionLimit {
        DecompressionLimit {
            max_bytes: 64 << 20,
            ratio: 100,
        }
    }
}

impl DecompressionLimit {
    /// What a small batch may grow to whatever its ratio.
    const SLACK: usize = 1 << 20;

    /// The limit for an input of that size.
    pub fn for_input(self, size: usize) -> usize {
        size.saturating_mul(self.ratio)
            .saturating_add(Self::SLACK)
            .min(self.max_bytes)
    }
}

/// Decompresses; no copy where nothing is compressed.
pub fn decompress(codec: Codec, input: &Bytes, limit: DecompressionLimit) -> Result<Bytes, CodecError> {
    if codec == Codec::None {
        return Ok(input.clone());
    }
    let mut output = Vec::new();
    decompress_into(codec, input, limit, &mut output)?;
    if output.capacity() / 2 > output.len() {
        output.shrink_to_fit();
    }
    Ok(output.into())
}

/// Decompresses into `output`, in place of what it holds. What has room already is not allocated anew.
pub(super) fn decompress_into(
    codec: Codec,
    input: &[u8],
    limit: DecompressionLimit,
    output: &mut Vec<u8>,
) -> Result<(), CodecError> {
    output.clear();
    let most = limit.for_input(input.len());
    match codec {
        Codec::None => output.extend_from_slice(input),
        Codec::Gzip => gzip::decompress(input, most, output)?,
        Codec::Snappy => snappy::decompress(input, most, output)?,
        Codec::Lz4 => lz4::decompress(input, most, lz4::HeaderChecksum::Verified, output)?,
        Codec::Zstd => zstd::decompress(input, most, output)?,
    }
    Ok(())
}

/// Decompresses the value of a wrapper message; lz4 in magic 0 has a header checksum that everybody gets wrong alike.
pub(super) fn decompress_legacy(
    codec: Codec,
    magic: i8,
    input: &Bytes,
    limit: DecompressionLimit,
) -> Result<Bytes, CodecError> {
    if codec == Codec::Lz4 && magic == 0 {
        let mut output = Vec::new();
        let most = limit.for_input(input.len());
        lz4::decompress(input, most, lz4::HeaderChecksum::Ignored, &mut output)?;
        return Ok(output.into());
    }
    decompress(codec, input, limit)
}

/// Compresses.
pub fn compress(compression: Compression, input: &[u8]) -> Result<Vec<u8>, CodecError> {
    match compression.codec {
        Codec::None => Ok(input.to_vec()),
        Codec::Gzip => gzip::compress(input, compression.level),
        Codec::Snappy => snappy::compress(input),
        Codec::Lz4 => lz4::compress(input),
        Codec::Zstd => zstd::compress(input, compression.level),
    }
}

#[cfg(test)]
mod tests;
