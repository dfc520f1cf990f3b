//! Round trips, the framings that other clients write, and bounded growth.

use proptest::prelude::*;

use super::*;

fn unpack(codec: Codec, input: &[u8]) -> Result<Vec<u8>, CodecError> {
    decompress(
        codec,
        &Bytes::copy_from_slice(input),
        DecompressionLimit::default(),
    )
    .map(|bytes| bytes.to_vec())
}

fn pack(codec: Codec, input: &[u8]) -> Vec<u8> {
    compress(Compression::of(codec), input).unwrap()
}

const PACKING: [Codec; 4] = [Codec::Gzip, Codec::Snappy, Codec::Lz4, Codec::Zstd];

#[test]
fn row_30_a_bomb_stops_at_the_limit() {
    let zeros = vec![0; 8 << 20];
    for codec in PACKING {
        let packed = Bytes::from(pack(codec, &zeros));
        let within = DecompressionLimit {
            max_bytes: zeros.len(),
            ratio: 100_000,
        };
        assert_eq!(
            decompress(codec, &packed, within).map(|bytes| bytes.len()),
            Ok(zeros.len()),
            "{codec:?}"
        );
        let below = DecompressionLimit {
            max_bytes: zeros.len() - 1,
            ratio: 100_000,
        };
        let refused = decompress(codec, &packed, below);
        assert_eq!(
            refused,
            Err(CodecError::TooLarge {
                limit: zeros.len() - 1
            }),
            "{codec:?}"
        );
    }
    // By the default limits the ones that pack zeros best are refused by their ratio.
    for codec in [Codec::Gzip, Codec::Zstd] {
        let refused = unpack(codec, &pack(codec, &zeros));
        assert!(matches!(refused, Err(CodecError::TooLarge { .. })), "{codec:?}");
    }
}

#[test]
fn the_limit_is_the_least_of_ratio_and_maximum() {
    let limit = DecompressionLimit::default();
    assert_eq!(limit.for_input(0), 1 << 20);
    assert_eq!(limit.for_input(1_000), 100_000 + (1 << 20));
    assert_eq!(limit.for_input(10 << 20), 64 << 20);
    assert_eq!(limit.for_input(usize::MAX), 64 << 20);
}

#[test]
fn a_snappy_length_that_claims_gigabytes_allocates_nothing() {
    // The varint says 2^32 - 1 bytes.
    let raw = [0xff, 0xff, 0xff, 0xff, 0x0f, 0x00];
    assert!(matches!(
        unpack(Codec::Snappy, &raw),
        Err(CodecError::TooLarge { .. })
    ));
    let framed = [&b"\x82SNAPPY\0\0\0\0\x01\0\0\0\x01\0\0\0\x06"[..], &raw].concat();
    assert!(matches!(
        unpack(Codec::Snappy, &framed),
        Err(CodecError::TooLarge { .. })
    ));
}

#[test]
fn snappy_is_read_bare_framed_and_in_streams_one_after_another() {
    let text = b"one two three one two three".repeat(3_000);
    let bare = snap::raw::Encoder::new().compress_vec(&text).unwrap();
    assert_eq!(unpack(Codec::Snappy, &bare).unwrap(), text);
    let framed = pack(Codec::Snappy, &text);
    assert_eq!(&framed[..16], b"\x82SNAPPY\0\0\0\0\x01\0\0\0\x01");
    assert_eq!(unpack(Codec::Snappy, &framed).unwrap(), text);
    let twice = [framed.clone(), framed].concat();
    assert_eq!(unpack(Codec::Snappy, &twice).unwrap(), text.repeat(2));
}

#[test]
fn lz4_is_written_as_independent_blocks_of_64_kib() {
    let text = b"abcdefghij".repeat(20_000);
    let packed = pack(Codec::Lz4, &text);
    assert_eq!(packed[..4], 0x184d_2204u32.to_le_bytes());
    assert_eq!(packed[4], 0x60, "version 1, independent blocks, nothing else");
    assert_eq!(packed[5], 0x40, "blocks of 64 KiB");
    assert_eq!(
        packed[6], 0x82,
        "the checksum Kafka's client writes for the same header"
    );
    assert_eq!(unpack(Codec::Lz4, &packed).unwrap(), text);
}

fn lz4_frame(info: lz4_flex::frame::FrameInfo, content: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut encoder = lz4_flex::frame::FrameEncoder::with_frame_info(info, Vec::new());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn lz4_frames_with_checksums_sizes_and_larger_blocks_are_read() {
    use lz4_flex::frame::{BlockMode, BlockSize, FrameInfo};
    let text = b"abcdefghijklmnopq".repeat(30_000);
    let info = FrameInfo::new()
        .block_mode(BlockMode::Independent)
        .block_checksums(true)
        .content_checksum(true);
    for size in [
        BlockSize::Max64KB,
        BlockSize::Max256KB,
        BlockSize::Max1MB,
        BlockSize::Max4MB,
    ] {
        let info = info
            .clone()
            .block_size(size)
            .content_size(Some(text.len() as u64));
        let packed = lz4_frame(info, &text);
        assert_eq!(unpack(Codec::Lz4, &packed).unwrap(), text);
        let mut damaged = packed.clone();
        let last = damaged.len() - 1;
        damaged[last] ^= 1;
        assert!(matches!(
            unpack(Codec::Lz4, &damaged),
            Err(CodecError::Broken { .. })
        ));
        let mut damaged = packed;
        damaged[100] ^= 1;
        assert!(matches!(
            unpack(Codec::Lz4, &damaged),
            Err(CodecError::Broken { .. })
        ));
    }
}

#[test]
fn lz4_frames_that_kafkas_client_cannot_read_are_refused() {
    use lz4_flex::frame::{BlockMode, BlockSize, FrameInfo};
    let info = FrameInfo::new()
        .block_mode(BlockMode::Linked)
        .block_size(BlockSize::Max64KB);
    let linked = lz4_frame(info, &b"abc".repeat(50_000));
    assert!(
        unpack(Codec::Lz4, &linked)
            .unwrap_err()
            .to_string()
            .contains("depend on one another")
    );
    let mut wrong_header = pack(Codec::Lz4, b"abc");
    wrong_header[6] ^= 1;
    assert!(
        unpack(Codec::Lz4, &wrong_header)
            .unwrap_err()
            .to_string()
            .contains("checksum of the header")
    );
    let trailing = [pack(Codec::Lz4, b"abc"), vec![0]].concat();
    assert!(
        unpack(Codec::Lz4, &trailing)
            .unwrap_err()
            .to_string()
            .contains("follow the frame")
    );
}

#[test]
fn zstd_is_read_whether_or_not_the_frame_says_its_size() {
    let text = b"abcdefghij".repeat(50_000);
    let without_size = zstd_stream(&text);
    assert_eq!(
        ::zstd::bulk::Decompressor::upper_bound(&without_size).map(|bound| bound > text.len()),
        Some(true)
    );
    assert_eq!(unpack(Codec::Zstd, &without_size).unwrap(), text);
    assert_eq!(unpack(Codec::Zstd, &pack(Codec::Zstd, &text)).unwrap(), text);
    assert_eq!(
        unpack(Codec::Zstd, &[zstd_stream(b"a"), zstd_stream(b"b")].concat()).unwrap(),
        b"ab"
    );
}

fn zstd_stream(content: &[u8]) -> Vec<u8> {
    ::zstd::stream::encode_all(content, 3).unwrap()
}

#[test]
fn row_31_broken_data_is_broken_not_too_large() {
    for codec in PACKING {
        let packed = pack(codec, &b"some text that packs a little, a little".repeat(10));
        for (what, damaged) in [
            ("garbage", b"this is no compressed data at all".to_vec()),
            ("nothing", Vec::new()),
            ("half", packed[..packed.len() / 2].to_vec()),
        ] {
            let refused = unpack(codec, &damaged);
            assert!(
                matches!(refused, Err(CodecError::Broken { .. })),
                "{codec:?} {what}: {refused:?}"
            );
        }
    }
}

#[test]
fn names_and_ids_go_both_ways() {
    for codec in Codec::ALL {
        assert_eq!(Codec::from_id(codec.id()), Ok(codec));
        assert_eq!(Codec::from_name(codec.name()), Some(codec));
    }
    assert_eq!(Codec::from_id(5), Err(CodecError::UnknownCodec(5)));
    assert_eq!(Codec::from_name("producer"), None);
}

proptest! {
    #[test]
    fn what_is_packed_unpacks(
        input in prop::collection::vec(any::<u8>(), 0..5_000),
        repeats in 1usize..60,
        codec in prop::sample::select(&Codec::ALL[..]),
    ) {
        let input = input.repeat(repeats);
        prop_assert_eq!(unpack(codec, &pack(codec, &input)).unwrap(), input);
    }

    #[test]
    fn no_input_panics_or_grows_past_the_limit(
        input in prop::collection::vec(any::<u8>(), 0..400),
        start in prop::sample::select(vec![&b""[..], b"\x82SNAPPY\0\0\0\0\x01\0\0\0\x01", b"\x04\x22\x4d\x18\x60\x40\x82",
            b"\x28\xb5\x2f\xfd", b"\x1f\x8b\x08\0\0\0\0\0\0\xff"]),
        codec in prop::sample::select(&Codec::ALL[..]),
    ) {
        let limit = DecompressionLimit { max_bytes: 2_000, ratio: 2 };
        let bytes = Bytes::from([start, &input].concat());
        if let Ok(output) = decompress(codec, &bytes, limit) {
            prop_assert!(output.len() <= 2_000);
        }
    }
}
