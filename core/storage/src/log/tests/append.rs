//! Rules 1 to 20 on a log.

use bytes::Bytes;
use model::{ErrorCode, LeaderEpoch, Offset};
use wire::records::{
    Attributes, BATCH_HEADER_SIZE, Batch, BatchBuilder, BatchHeader, Codec, Compression, ControlRecordType,
    TimestampType,
};

use super::support::*;
use crate::disk::{SimDisk, SimFaults};
use crate::log::*;

fn new_log(config: LogConfig) -> Log {
    create(&SimDisk::new(1), config)
}

fn code(log: &mut Log, batch: &Bytes) -> ErrorCode {
    let before = (log.log_end_offset(), log.size());
    let refused = log
        .append_as_leader(batch, Origin::Client, EPOCH, NOW)
        .unwrap_err();
    assert_eq!(
        (log.log_end_offset(), log.size()),
        before,
        "a refused batch leaves the log as it was (rule 11)"
    );
    refused.code()
}

/// The batch with a changed header and a checksum that fits.
fn with_header(batch: &Bytes, change: impl FnOnce(&mut BatchHeader)) -> Bytes {
    let mut header = BatchHeader::parse(batch).unwrap();
    change(&mut header);
    resealed(header, &batch[BATCH_HEADER_SIZE..])
}

/// The batch with other bytes for its records and a checksum that fits.
fn with_records(batch: &Bytes, count: i32, records: &[u8]) -> Bytes {
    let mut header = BatchHeader::parse(batch).unwrap();
    header.record_count = count;
    header.last_offset_delta = count - 1;
    header.batch_length = (BATCH_HEADER_SIZE - 12 + records.len()) as i32;
    resealed(header, records)
}

fn resealed(mut header: BatchHeader, records: &[u8]) -> Bytes {
    header.crc = crc32c::crc32c_append(crc32c::crc32c(&header.to_bytes()[21..]), records);
    [&header.to_bytes()[..], records].concat().into()
}

#[test]
fn offsets_follow_each_other_and_the_epoch_is_stamped() {
    let mut log = new_log(small());
    let first = append(&mut log, &batch(&["a", "b"]));
    let second = append(&mut log, &batch(&["c"]));
    assert_eq!((first.first_offset, first.last_offset), (Offset(0), Offset(1)));
    assert_eq!(
        (second.first_offset, second.last_offset, second.duplicate),
        (Offset(2), Offset(2), false)
    );
    let stored = read_batches(&log, Offset(0));
    assert_eq!(stored[1].header().base_offset, Offset(2));
    assert!(stored.iter().all(|batch| batch.header().leader_epoch == EPOCH));
    let kept: Vec<&[u8]> = stored.iter().map(|batch| &batch.bytes()[21..]).collect();
    assert_eq!(
        kept,
        [&batch(&["a", "b"])[21..], &batch(&["c"])[21..]],
        "what the checksum covers is untouched"
    );
}

#[test]
fn rule_1_a_client_sends_exactly_one_batch_of_magic_2() {
    let mut log = new_log(small());
    let two = [batch(&["a"]), batch(&["b"])].concat();
    assert_eq!(code(&mut log, &two.into()), ErrorCode::InvalidRecord);
    assert_eq!(code(&mut log, &Bytes::new()), ErrorCode::InvalidRecord);
    for magic in [0, 1, 3] {
        let mut old = batch(&["a"]).to_vec();
        old[16] = magic;
        assert_eq!(code(&mut log, &old.into()), ErrorCode::InvalidRecord);
    }
}

#[test]
fn rule_3_the_base_offset_of_a_clients_batch_is_zero() {
    let moved = with_header(&batch(&["a"]), |header| header.base_offset = Offset(5));
    assert_eq!(code(&mut new_log(small()), &moved), ErrorCode::InvalidRecord);
}

#[test]
fn rule_4_a_batch_above_max_message_bytes_is_too_large_also_after_another_codec() {
    let size = batch(&["0123456789"]).len() as u32;
    let mut log = new_log(LogConfig {
        max_message_bytes: size,
        ..small()
    });
    append(&mut log, &batch(&["0123456789"]));
    assert_eq!(
        code(&mut log, &batch(&["0123456789x"])),
        ErrorCode::MessageTooLarge
    );
    // Zstd adds its frame to what cannot be compressed.
    let zstd = Some(Compression::of(Codec::Zstd));
    let mut log = new_log(LogConfig {
        max_message_bytes: size,
        compression: zstd,
        ..small()
    });
    assert_eq!(
        code(&mut log, &batch(&["0123456789"])),
        ErrorCode::MessageTooLarge
    );
}

#[test]
fn rule_5_a_wrong_checksum_or_length_is_corrupt_wherever_it_comes_from() {
    let mut log = new_log(small());
    let sound = batch(&["a"]);
    for at in [17, 30, 61, sound.len() - 1] {
        let mut damaged = sound.to_vec();
        damaged[at] ^= 1;
        assert_eq!(
            code(&mut log, &damaged.clone().into()),
            ErrorCode::CorruptMessage,
            "byte {at}"
        );
        for origin in [Origin::Coordinator, Origin::Raft] {
            let refused = log
                .append_as_leader(&damaged.clone().into(), origin, EPOCH, NOW)
                .unwrap_err();
            assert_eq!(refused.code(), ErrorCode::CorruptMessage);
        }
        let refused = log.append_as_follower(&damaged.into(), NOW).unwrap_err();
        assert_eq!(refused.code(), ErrorCode::CorruptMessage, "rule 20");
    }
    assert_eq!(
        code(&mut log, &sound.slice(..sound.len() - 1)),
        ErrorCode::CorruptMessage
    );
    assert_eq!(code(&mut log, &sound.slice(..40)), ErrorCode::CorruptMessage);
    for length in [48, 0, -1, i32::MIN] {
        let mut short = sound.to_vec();
        short[8..12].copy_from_slice(&i32::to_be_bytes(length));
        assert_eq!(code(&mut log, &short.into()), ErrorCode::CorruptMessage);
    }
}

#[test]
fn rule_6_the_count_is_positive_and_spans_the_offsets() {
    let mut log = new_log(small());
    for (count, delta) in [
        (0, -1),
        (0, 0),
        (-1, -2),
        (2, 0),
        (1, 1),
        (i32::MIN, i32::MAX),
        (i32::MAX, i32::MAX),
    ] {
        let wrong = with_header(&batch(&["a"]), |header| {
            (header.record_count, header.last_offset_delta) = (count, delta);
        });
        assert_eq!(
            code(&mut log, &wrong),
            ErrorCode::InvalidRecord,
            "{count} {delta}"
        );
    }
    let more = with_header(&batch(&["a"]), |header| {
        (header.record_count, header.last_offset_delta) = (2, 1)
    });
    assert_eq!(code(&mut log, &more), ErrorCode::InvalidRecord);
}

#[test]
fn rule_7_only_the_broker_itself_writes_control_batches() {
    let mut log = new_log(small());
    assert_eq!(
        code(&mut log, &marker(1, ControlRecordType::Abort)),
        ErrorCode::InvalidRecord
    );
    append_marker(&mut log, &marker(1, ControlRecordType::Abort));
}

#[test]
fn rule_8_a_producer_has_a_sequence_and_a_transaction_has_a_producer() {
    let mut log = new_log(small());
    assert_eq!(
        code(&mut log, &produced(1, 0, -1, &["a"])),
        ErrorCode::InvalidRecord
    );
    assert_eq!(
        code(&mut log, &produced(1, -1, 0, &["a"])),
        ErrorCode::InvalidRecord
    );
    assert_eq!(
        code(&mut log, &produced(-2, 0, 0, &["a"])),
        ErrorCode::InvalidRecord
    );
    let orphan = with(BatchBuilder::new().transactional(), &["a"]);
    assert_eq!(code(&mut log, &orphan), ErrorCode::InvalidRecord);
}

#[test]
fn rule_9_a_compacted_topic_names_each_record_without_a_key() {
    let compact = CleanupPolicy {
        delete: false,
        compact: true,
    };
    for compression in [Codec::None, Codec::Zstd] {
        let mut log = new_log(LogConfig {
            cleanup: compact,
            compressed_check: CompressedCheck::Header,
            ..small()
        });
        let mut builder = BatchBuilder::new().with_compression(Compression::of(compression));
        for key in [Some(&b"k"[..]), None, Some(b""), None] {
            builder.append(NOW, key, None, &[]).unwrap();
        }
        let refused = log
            .append_as_leader(&builder.build().unwrap(), Origin::Client, EPOCH, NOW)
            .unwrap_err();
        assert_eq!(refused.code(), ErrorCode::InvalidRecord);
        let named: Vec<i32> = refused.record_faults().iter().map(|fault| fault.index).collect();
        assert_eq!(named, [1, 3]);
        append(&mut log, &batch(&["with a key"]));
    }
}

#[test]
fn rule_10_a_create_time_lies_within_the_topics_bounds() {
    let config = LogConfig {
        timestamp_before_max_ms: 1000,
        timestamp_after_max_ms: 500,
        ..small()
    };
    let mut log = new_log(config);
    let of = |times: &[i64]| timed(times, Compression::NONE);
    append(&mut log, &of(&[NOW - 1000, NOW + 500, -1]));
    for wrong in [NOW - 1001, NOW + 501, i64::MAX, i64::MIN, 0, -2] {
        assert_eq!(
            code(&mut log, &of(&[wrong])),
            ErrorCode::InvalidTimestamp,
            "{wrong}"
        );
    }
    let refused = log
        .append_as_leader(&of(&[NOW, 0, NOW, 1]), Origin::Client, EPOCH, NOW)
        .unwrap_err();
    let named: Vec<i32> = refused.record_faults().iter().map(|fault| fault.index).collect();
    assert_eq!(named, [1, 3]);
    let set_by_client = with(BatchBuilder::new().with_log_append_time(NOW), &["a"]);
    assert_eq!(code(&mut log, &set_by_client), ErrorCode::InvalidTimestamp);
}

#[test]
fn a_timestamp_delta_that_overflows_is_refused() {
    let overflowing = with_header(&timed(&[NOW, NOW + 5], Compression::NONE), |header| {
        header.base_timestamp = i64::MAX - 2;
    });
    assert_eq!(
        code(&mut new_log(small()), &overflowing),
        ErrorCode::InvalidTimestamp
    );
}

#[test]
fn rule_12_a_missing_or_wrong_max_timestamp_is_set_with_a_new_checksum() {
    for claimed in [-1, 0, NOW + 77] {
        let mut log = new_log(small());
        let wrong = with_header(&timed(&[NOW, NOW + 9, NOW + 3], Compression::NONE), |header| {
            header.max_timestamp = claimed
        });
        append(&mut log, &wrong);
        assert_eq!(read_batches(&log, Offset(0))[0].header().max_timestamp, NOW + 9);
        assert_eq!(
            log.offset_by_timestamp(NOW + 5).unwrap().unwrap().offset,
            Offset(1)
        );
    }
}

#[test]
fn log_append_time_is_stamped_with_the_brokers_clock_case_24() {
    let config = LogConfig {
        timestamp_type: TimestampType::LogAppendTime,
        ..small()
    };
    for codec in Codec::ALL {
        let mut log = new_log(config.clone());
        let sent = timed(&[5, 6], Compression::of(codec));
        let appended = log
            .append_as_leader(&sent, Origin::Client, EPOCH, NOW + 3)
            .unwrap();
        assert_eq!(appended.log_append_time_ms, Some(NOW + 3));
        let stored = &read_batches(&log, Offset(0))[0];
        assert_eq!(
            stored.header().attributes.timestamp_type(),
            TimestampType::LogAppendTime
        );
        assert_eq!(stored.header().attributes.codec(), Ok(codec));
        let times: Vec<i64> = records(&log, Offset(0))
            .iter()
            .map(|record| record.timestamp)
            .collect();
        assert_eq!(times, [NOW + 3, NOW + 3]);
        assert_eq!(
            log.offset_by_timestamp(NOW + 3).unwrap().unwrap().offset,
            Offset(0)
        );
    }
    assert_eq!(
        append(&mut new_log(small()), &batch(&["a"])).log_append_time_ms,
        None
    );
}

#[test]
fn rule_13_another_codec_is_applied_and_the_records_stay() {
    for target in Codec::ALL {
        for sent in Codec::ALL {
            let mut log = new_log(LogConfig {
                compression: Some(Compression::of(target)),
                ..small()
            });
            let values = ["a", "bb", "ccc"];
            let builder = BatchBuilder::new()
                .with_compression(Compression::of(sent))
                .with_producer(producer(4, 1, 0));
            append(&mut log, &with(builder, &values));
            let stored = &read_batches(&log, Offset(0))[0];
            assert_eq!(
                stored.header().attributes.codec(),
                Ok(target),
                "{sent:?} to {target:?}"
            );
            assert_eq!(stored.header().producer_id.0, 4);
            assert_eq!(
                contents(&log)
                    .iter()
                    .map(|(_, value)| value.as_str())
                    .collect::<Vec<_>>(),
                values
            );
        }
    }
}

#[test]
fn rule_14_every_offset_delta_equals_its_index_compressed_or_not() {
    for codec in Codec::ALL {
        let mut log = new_log(small());
        let mut builder = BatchBuilder::new().with_compression(Compression::of(codec));
        for offset in [0, 1, 3] {
            builder.append_at(Offset(offset), NOW, None, None, &[]).unwrap();
        }
        let skipping = with_header(&builder.build().unwrap(), |header| header.last_offset_delta = 2);
        let refused = log
            .append_as_leader(&skipping, Origin::Client, EPOCH, NOW)
            .unwrap_err();
        assert_eq!(refused.code(), ErrorCode::InvalidRecord, "{codec:?}");
        assert_eq!(refused.record_faults()[0].index, 2);
    }
}

#[test]
fn rule_15_records_fill_their_batch_and_know_no_unknown_bits() {
    let mut log = new_log(small());
    let one = batch(&["a"]);
    let record = &one[BATCH_HEADER_SIZE..];
    let trailing = [record, &[0]].concat();
    assert_eq!(
        code(&mut log, &with_records(&one, 1, &trailing)),
        ErrorCode::InvalidRecord
    );
    // A record without key, value and headers has length 6: its fields are 0 0 0 1 1 0.
    let plain = [12, 0, 0, 0, 1, 1, 0];
    append(&mut log, &with_records(&one, 1, &plain));
    for (what, broken) in [
        ("length past the end", [14, 0, 0, 0, 1, 1, 0]),
        ("length below zero", [1, 0, 0, 0, 1, 1, 0]),
        ("attribute bits", [12, 1, 0, 0, 1, 1, 0]),
        ("headers that are not there", [12, 0, 0, 0, 1, 1, 40]),
        ("headers below zero", [12, 0, 0, 0, 1, 1, 1]),
        ("key longer than the record", [12, 0, 0, 0, 20, 1, 0]),
        ("key length below -1", [12, 0, 0, 0, 3, 1, 0]),
    ] {
        assert_eq!(
            code(&mut log, &with_records(&one, 1, &broken)),
            ErrorCode::InvalidRecord,
            "{what}"
        );
    }
    for bits in [0x80, 0x100, i16::MIN] {
        let unknown = with_header(&one, |header| header.attributes = Attributes(bits));
        assert_eq!(code(&mut log, &unknown), ErrorCode::InvalidRecord);
    }
    let horizon = with_header(&one, |header| {
        header.attributes = header.attributes.delete_horizon()
    });
    assert_eq!(code(&mut log, &horizon), ErrorCode::InvalidRecord);
}

#[test]
fn codecs_that_do_not_exist_and_data_they_cannot_read_are_told_apart() {
    let mut log = new_log(small());
    for id in 5..8 {
        let unknown = with_header(&batch(&["a"]), |header| header.attributes = Attributes(id));
        assert_eq!(code(&mut log, &unknown), ErrorCode::UnsupportedCompressionType);
    }
    for codec in [Codec::Gzip, Codec::Snappy, Codec::Lz4, Codec::Zstd] {
        let broken = with_header(&batch(&["not compressed"]), |header| {
            header.attributes = header.attributes.with_codec(codec);
        });
        assert_eq!(code(&mut log, &broken), ErrorCode::CorruptMessage, "{codec:?}");
    }
}

#[test]
fn a_compression_bomb_is_refused_within_the_limit() {
    let mut builder = BatchBuilder::new().with_compression(Compression::of(Codec::Zstd));
    builder.append(NOW, None, Some(&vec![0; 4 << 20]), &[]).unwrap();
    let bomb = builder.build().unwrap();
    let mut config = small();
    config.decompression_limit.max_bytes = 1 << 20;
    assert_eq!(code(&mut new_log(config), &bomb), ErrorCode::InvalidRecord);
}

#[test]
fn trusted_producers_may_have_compressed_records_unread() {
    let mut log = new_log(LogConfig {
        compressed_check: CompressedCheck::Header,
        ..small()
    });
    let broken = with_header(&batch(&["not compressed"]), |header| {
        header.attributes = header.attributes.with_codec(Codec::Lz4);
    });
    append(&mut log, &broken);
    let future = with_header(&timed(&[NOW], Compression::of(Codec::Lz4)), |header| {
        header.max_timestamp = i64::MAX;
    });
    assert_eq!(code(&mut log, &future), ErrorCode::InvalidTimestamp);
}

#[test]
fn row_26_a_count_that_no_decompression_could_bear_out_is_invalid_unread_too() {
    let mut log = new_log(LogConfig {
        compressed_check: CompressedCheck::Header,
        ..small()
    });
    let one = with(
        BatchBuilder::new().with_compression(Compression::of(Codec::Lz4)),
        &["a"],
    );
    let claiming = |count: i32| {
        with_header(&one, |header| {
            header.record_count = count;
            header.last_offset_delta = count - 1;
        })
    };
    let unpacked = small()
        .decompression_limit
        .for_input(one.len() - BATCH_HEADER_SIZE);
    let most = i32::try_from(unpacked / 7).unwrap();
    for count in [most + 1, i32::MAX] {
        assert_eq!(code(&mut log, &claiming(count)), ErrorCode::InvalidRecord);
    }
    append(&mut log, &claiming(most));
    assert_eq!(log.log_end_offset(), Offset(most.into()));
}

#[test]
fn rule_16_batches_larger_than_a_segment_are_refused() {
    let mut log = new_log(LogConfig {
        segment_bytes: 100,
        ..small()
    });
    assert_eq!(
        code(&mut log, &batch(&[&"x".repeat(100)])),
        ErrorCode::RecordListTooLarge
    );
    append(&mut log, &batch(&["x"]));
}

#[test]
fn rule_17_the_topic_id_is_durable_before_the_first_append() {
    for seed in 0..100 {
        let disk = SimDisk::new(seed);
        let log = create(&disk, small());
        assert_eq!(log.topic_id(), Some(model::Uuid([7; 16])));
        disk.crash();
        let (log, _) = reopen(&disk, small(), Shutdown::Unclean, 0);
        assert_eq!(log.topic_id(), Some(model::Uuid([7; 16])));
    }
}

#[test]
fn rule_18_a_follower_keeps_the_leaders_offsets_and_takes_gaps_but_no_way_back() {
    let mut leader = new_log(small());
    for values in [["a", "b"], ["c", "d"], ["e", "f"]] {
        append(&mut leader, &batch(&values));
    }
    let sent = leader
        .read(Offset(0), 1 << 20, Offset(6), FirstBatch::Whole)
        .unwrap()
        .records
        .to_bytes()
        .unwrap();
    let mut follower = new_log(small());
    let appended = follower.append_as_follower(&sent, NOW).unwrap();
    assert_eq!(
        (appended.first_offset, appended.last_offset),
        (Offset(0), Offset(5))
    );
    assert_eq!(contents(&follower), contents(&leader));
    assert_eq!(follower.latest_epoch(), Some(EPOCH));
    let again = follower.append_as_follower(&sent, NOW).unwrap_err();
    assert!(
        matches!(
            again,
            AppendError::OffsetOrder {
                found: Offset(0),
                log_end_offset: Offset(6)
            }
        ),
        "{again}"
    );
    let far = with(BatchBuilder::new().with_base_offset(Offset(1 << 40)), &["far"]);
    follower.append_as_follower(&far, NOW).unwrap();
    assert_eq!(follower.log_end_offset(), Offset((1 << 40) + 1));
    assert_eq!(contents(&follower).last().unwrap(), &(1 << 40, "far".to_owned()));
}

#[test]
fn a_follower_leaves_out_a_batch_that_is_cut_off_behind_others() {
    let mut follower = new_log(small());
    let second = with(BatchBuilder::new().with_base_offset(Offset(1)), &["b"]);
    let both = [&batch(&["a"])[..], &second[..second.len() - 1]].concat();
    follower.append_as_follower(&both.into(), NOW).unwrap();
    assert_eq!(follower.log_end_offset(), Offset(1));
    assert!(
        follower
            .append_as_follower(&second.slice(..second.len() - 1), NOW)
            .is_err()
    );
}

#[test]
fn the_first_batch_far_above_an_empty_log_begins_a_segment_there() {
    let disk = SimDisk::new(1);
    let mut log = create(&disk, small());
    let base = Offset(i64::from(i32::MAX) + 10);
    log.append_as_follower(&with(BatchBuilder::new().with_base_offset(base), &["x"]), NOW)
        .unwrap();
    assert_eq!(log.segment_count(), 1);
    assert!(files(&disk).contains(&format!("{:020}.log", base.0)));
    assert!(!files(&disk).contains(&"00000000000000000000.log".to_owned()));
}

#[test]
fn an_append_of_an_older_leader_is_refused_and_a_newer_epoch_is_noted_durably() {
    let disk = SimDisk::new(1);
    let mut log = create(&disk, small());
    log.begin_epoch(LeaderEpoch(4)).unwrap();
    append_in(&mut log, 4).unwrap();
    assert_eq!(
        append_in(&mut log, 3).unwrap_err().code(),
        ErrorCode::FencedLeaderEpoch
    );
    append_in(&mut log, 9).unwrap();
    let epochs = disk
        .read(std::path::Path::new("/data/t-0/leader-epoch-checkpoint"))
        .unwrap();
    assert_eq!(epochs, b"0\n2\n4 0\n9 1\n");
    let end = log.end_offset_for_epoch(LeaderEpoch(5)).unwrap();
    assert_eq!((end.leader_epoch, end.end_offset), (LeaderEpoch(4), Offset(1)));
}

fn append_in(log: &mut Log, epoch: i32) -> Result<Appended, AppendError> {
    log.append_as_leader(&batch(&["x"]), Origin::Client, LeaderEpoch(epoch), NOW)
}

#[test]
fn rule_112_a_failed_append_leaves_nothing_behind_when_the_next_one_succeeds() {
    for seed in 0..60 {
        let disk = SimDisk::new(seed);
        let mut log = create(&disk, small());
        append(&mut log, &batch(&["first"]));
        disk.set_faults(SimFaults {
            write_errors: 1_000_000,
            ..SimFaults::default()
        });
        let failed = log
            .append_as_leader(&batch(&["lost"]), Origin::Client, EPOCH, NOW)
            .unwrap_err();
        assert_eq!(failed.code(), ErrorCode::KafkaStorageError);
        assert_eq!(log.log_end_offset(), Offset(1));
        disk.set_faults(SimFaults::default());
        append(&mut log, &batch(&["second"]));
        let expected = [(0, "first".to_owned()), (1, "second".to_owned())];
        assert_eq!(contents(&log), expected);
        sync(&mut log);
        disk.crash();
        let (log, report) = reopen(&disk, small(), Shutdown::Unclean, 0);
        assert_eq!(contents(&log), expected);
        assert_eq!(report.truncated_bytes, 0);
    }
}

#[test]
fn a_full_disk_refuses_appends_until_there_is_space_again() {
    let disk = SimDisk::new(1);
    let mut log = create(
        &disk,
        LogConfig {
            segment_bytes: 1 << 20,
            ..small()
        },
    );
    append(&mut log, &batch(&["first"]));
    disk.set_faults(SimFaults {
        capacity: disk.used(),
        ..SimFaults::default()
    });
    let large = batch(&[&"x".repeat(10_000)]);
    let failed = log
        .append_as_leader(&large, Origin::Client, EPOCH, NOW)
        .unwrap_err();
    assert!(
        matches!(&failed, AppendError::Disk(error) if error.kind() == std::io::ErrorKind::StorageFull),
        "{failed}"
    );
    assert_eq!(contents(&log).len(), 1, "what is there can be read");
    disk.set_faults(SimFaults::default());
    append(&mut log, &large);
    assert_eq!(contents(&log).len(), 2);
}

#[test]
fn an_offline_log_takes_no_appends() {
    let mut log = new_log(small());
    append(&mut log, &batch(&["a"]));
    log.set_offline();
    assert_eq!(code(&mut log, &batch(&["b"])), ErrorCode::KafkaStorageError);
    assert_eq!(contents(&log).len(), 1);
    assert!(log.close().is_err());
}

#[test]
fn offsets_never_pass_the_largest_number() {
    let mut log = new_log(small());
    let last = with(BatchBuilder::new().with_base_offset(Offset(i64::MAX - 3)), &["a"]);
    log.append_as_follower(&last, NOW).unwrap();
    assert_eq!(
        code(&mut log, &batch(&["b", "c", "d"])),
        ErrorCode::UnknownServerError
    );
    append(&mut log, &batch(&["b", "c"]));
    assert_eq!(log.log_end_offset(), Offset(i64::MAX));
    let beyond = with_header(&batch(&["x"]), |header| {
        header.base_offset = Offset(i64::MAX);
        header.last_offset_delta = i32::MAX;
    });
    assert!(log.append_as_follower(&beyond, NOW).is_err());
}

#[test]
fn rule_102_a_segment_ends_by_size_by_time_and_by_its_index() {
    let mut by_size = new_log(LogConfig {
        segment_bytes: 200,
        ..small()
    });
    let mut by_time = new_log(LogConfig {
        segment_ms: 100,
        ..small()
    });
    let mut by_index = new_log(LogConfig {
        index_interval_bytes: 0,
        segment_index_bytes: 48,
        ..small()
    });
    for _ in 0..3 {
        append(&mut by_size, &batch(&["0123456789"]));
        append(&mut by_time, &batch(&["0123456789"]));
    }
    assert_eq!((by_size.segment_count(), by_time.segment_count()), (2, 1));
    append(&mut by_time, &timed(&[NOW + 100], Compression::NONE));
    assert_eq!(by_time.segment_count(), 1);
    append(&mut by_time, &timed(&[NOW + 101], Compression::NONE));
    assert_eq!(by_time.segment_count(), 2);
    // Six offsets fit 48 bytes, and three times with one kept free for the end.
    for time in 0..5 {
        append(&mut by_index, &timed(&[NOW + time], Compression::NONE));
    }
    assert_eq!(by_index.segment_count(), 2);
}

#[test]
fn jitter_shortens_the_age_of_a_segment_the_same_way_each_time() {
    let rolled_after = |partition: &str| {
        let disk = SimDisk::new(1);
        let place = LogPlace {
            topic_partition: model::TopicPartition::new(partition, 0),
            ..place(&disk)
        };
        let config = LogConfig {
            segment_ms: 1000,
            segment_jitter_ms: 900,
            segment_bytes: 1 << 20,
            ..small()
        };
        let mut log = Log::create(place, model::Uuid([7; 16]), config.into(), NOW).unwrap();
        append(&mut log, &timed(&[NOW], Compression::NONE));
        let mut age = 0;
        while log.segment_count() == 1 {
            age += 10;
            append(&mut log, &timed(&[NOW + age], Compression::NONE));
        }
        age
    };
    let ages: Vec<i64> = ["a", "b", "c", "d"].map(rolled_after).to_vec();
    assert_eq!(ages, ["a", "b", "c", "d"].map(rolled_after));
    assert!(ages.iter().all(|age| (100..=1010).contains(age)), "{ages:?}");
    assert!(ages.iter().any(|age| *age != ages[0]), "{ages:?}");
}

#[test]
fn a_batch_that_is_sound_is_stored_as_it_came() {
    for codec in Codec::ALL {
        let mut log = new_log(small());
        let sent = with(
            BatchBuilder::new().with_compression(Compression::of(codec)),
            &["a", "b"],
        );
        append(&mut log, &sent);
        let stored = read_batches(&log, Offset(0));
        assert_eq!(stored[0].bytes()[21..], sent[21..]);
        assert_eq!(Batch::parse(&sent).unwrap().header().crc, stored[0].header().crc);
    }
}
