//! Reading by offset and by time, with and without the log at hand.

use model::Offset;
use proptest::prelude::*;
use wire::records::{BatchBuilder, Codec, Compression, ControlRecordType, batches};

use super::support::*;
use crate::disk::SimDisk;
use crate::log::*;

fn filled(config: LogConfig, count: usize) -> Log {
    let mut log = create(&SimDisk::new(1), config);
    for n in 0..count {
        append(&mut log, &batch(&[&format!("{n}-0"), &format!("{n}-1")]));
    }
    log
}

fn first_offset(read: &Read) -> Option<i64> {
    let bytes = read.records.to_bytes().unwrap();
    batches(&bytes)
        .next()
        .map(|batch| batch.unwrap().header().base_offset.0)
}

#[test]
fn case_27_an_offset_inside_a_batch_returns_the_whole_batch() {
    let log = filled(small(), 2);
    let from = |offset| {
        first_offset(
            &log.read(Offset(offset), 1000, Offset(4), FirstBatch::Whole)
                .unwrap(),
        )
    };
    assert_eq!([0, 1, 2, 3].map(from), [Some(0), Some(0), Some(2), Some(2)]);
    assert_eq!(from(4), None);
}

#[test]
fn case_30_offsets_out_of_the_log_are_an_error_and_those_beyond_the_bound_are_empty() {
    let mut log = filled(small(), 3);
    assert!(log.set_log_start_offset(Offset(2)));
    let read = |offset, upto| log.read(Offset(offset), 1000, Offset(upto), FirstBatch::Whole);
    for outside in [-1, 0, 1, 7, i64::MAX] {
        let error = read(outside, 6).unwrap_err();
        assert_eq!(error.code(), model::ErrorCode::OffsetOutOfRange, "{outside}");
    }
    assert!(read(4, 4).unwrap().records.is_empty());
    assert!(read(5, 4).unwrap().records.is_empty());
    assert!(read(6, 6).unwrap().records.is_empty());
    assert!(read(6, 600).unwrap().records.is_empty());
}

#[test]
fn a_read_stops_at_the_bound_also_in_the_middle_of_a_segment() {
    let log = filled(
        LogConfig {
            segment_bytes: 1 << 20,
            ..small()
        },
        100,
    );
    for upto in [2, 4, 50, 150, 198, 200] {
        let read = log
            .read(Offset(0), 1 << 20, Offset(upto), FirstBatch::Whole)
            .unwrap();
        let bytes = read.records.to_bytes().unwrap();
        let last = batches(&bytes).last().unwrap().unwrap().header().next_offset();
        assert_eq!(last, Offset(upto));
        assert!(read.upper_offset >= Offset(upto) || read.upper_offset == last);
    }
    assert!(
        log.read(Offset(2), 1 << 20, Offset(3), FirstBatch::Whole)
            .unwrap()
            .records
            .is_empty()
    );
}

#[test]
fn rule_59_the_first_batch_is_whole_where_that_is_asked_for() {
    let log = filled(small(), 3);
    let size = batch(&["0-0", "0-1"]).len();
    let read = |max, first| log.read(Offset(0), max, Offset(6), first).unwrap().records.len();
    assert_eq!(read(1, FirstBatch::Whole), size);
    assert_eq!(read(0, FirstBatch::Whole), size);
    assert_eq!(read(1, FirstBatch::Limited), 0);
    assert_eq!(read(size, FirstBatch::Limited), size);
    assert_eq!(read(size + 5, FirstBatch::Limited), size + 5);
}

#[test]
fn a_reader_sees_the_log_as_it_was_while_the_log_goes_on() {
    let mut log = filled(small(), 10);
    let reader = log.reader();
    for n in 0..200 {
        append(&mut log, &batch(&[&format!("later {n}")]));
    }
    assert_eq!(reader.log_end_offset(), Offset(20));
    let mut next = Offset(0);
    while next < Offset(20) {
        let read = reader
            .read(next, 300, Offset(i64::MAX), FirstBatch::Whole)
            .unwrap();
        let bytes = read.records.to_bytes().unwrap();
        for batch in batches(&bytes).map_while(Result::ok) {
            next = batch.header().next_offset();
        }
    }
    assert_eq!(next, Offset(20));
    assert_eq!(
        reader.offset_by_timestamp(NOW).unwrap().unwrap().offset,
        Offset(0)
    );
}

#[test]
fn what_is_being_sent_outlives_its_segment() {
    let mut log = filled(small(), 60);
    let read = log
        .read(Offset(0), 1000, log.log_end_offset(), FirstBatch::Whole)
        .unwrap();
    log.set_config(
        LogConfig {
            retention_bytes: Some(0),
            file_delete_delay_ms: 0,
            ..small()
        }
        .into(),
    );
    assert!(log.delete_old_segments(NOW, log.log_end_offset()).unwrap() > 0);
    sync(&mut log);
    log.take_deleted(NOW).unwrap().remove().unwrap();
    assert_eq!(first_offset(&read), Some(0));
}

#[test]
fn a_sealed_index_that_leads_astray_costs_time_and_no_records() {
    let disk = SimDisk::new(5);
    let mut log = create(&disk, small());
    for n in 0..60 {
        append(&mut log, &batch(&[&format!("value {n}")]));
    }
    let expected = contents(&log);
    log.close().unwrap();
    for name in files(&disk).iter().filter(|name| name.ends_with(".index")) {
        let path = std::path::Path::new("/data/t-0").join(name);
        let size = crate::disk::Disk::len(&disk, &path).unwrap();
        for position in (0..size).step_by(3) {
            disk.flip_bit(&path, position, 2).unwrap();
        }
    }
    let (log, _) = reopen(&disk, small(), Shutdown::Clean, 0);
    assert_eq!(contents(&log), expected);
    for (offset, value) in &expected {
        let found = records(&log, Offset(*offset))
            .into_iter()
            .find(|record| record.offset.0 == *offset);
        assert_eq!(found.unwrap().value.unwrap(), value.as_bytes());
    }
}

#[test]
fn case_34_the_first_record_at_or_after_a_time() {
    let mut log = create(&SimDisk::new(1), small());
    for time in [2, 4, 6, 8] {
        append(&mut log, &timed(&[time], Compression::NONE));
    }
    let at = |time| {
        log.offset_by_timestamp(time)
            .unwrap()
            .map(|found| (found.offset.0, found.timestamp))
    };
    assert_eq!(
        [3, 8, 9, -1].map(at),
        [Some((1, 4)), Some((3, 8)), None, Some((0, 2))]
    );
    assert_eq!(log.offset_by_timestamp(3).unwrap().unwrap().leader_epoch, EPOCH);
    assert_eq!(log.offset_of_max_timestamp().unwrap().unwrap().offset, Offset(3));
    assert_eq!(
        create(&SimDisk::new(1), small())
            .offset_of_max_timestamp()
            .unwrap(),
        None
    );
}

#[test]
fn case_35_the_exact_record_in_a_batch_in_order_and_reversed_compressed_and_not() {
    for codec in Codec::ALL {
        let mut log = create(&SimDisk::new(1), small());
        let forwards: Vec<i64> = (1..=12).collect();
        let backwards: Vec<i64> = (1..=12).rev().collect();
        append(&mut log, &timed(&forwards, Compression::of(codec)));
        for time in 1..=12 {
            assert_eq!(
                log.offset_by_timestamp(time).unwrap().unwrap().offset,
                Offset(time - 1)
            );
        }
        let mut log = create(&SimDisk::new(1), small());
        append(&mut log, &timed(&backwards, Compression::of(codec)));
        for time in 1..=12 {
            assert_eq!(
                log.offset_by_timestamp(time).unwrap().unwrap().offset,
                Offset(0),
                "the first is the latest"
            );
        }
        assert_eq!(log.offset_of_max_timestamp().unwrap().unwrap().offset, Offset(0));
    }
}

#[test]
fn markers_are_found_by_no_time_but_count_for_the_largest() {
    let mut log = create(&SimDisk::new(1), small());
    let early = BatchBuilder::new()
        .with_producer(producer(1, 0, 0))
        .transactional();
    let mut early = early;
    early.append(NOW - 100, None, None, &[]).unwrap();
    append(&mut log, &early.build().unwrap());
    append_marker(&mut log, &marker(1, ControlRecordType::Abort));
    assert_eq!(log.offset_by_timestamp(NOW - 50).unwrap(), None);
    assert_eq!(log.offset_of_max_timestamp().unwrap().unwrap().offset, Offset(1));
}

#[test]
fn records_before_the_start_are_found_by_no_time() {
    let mut log = create(&SimDisk::new(1), small());
    append(&mut log, &timed(&[1, 2, 3, 4], Compression::NONE));
    assert!(log.set_log_start_offset(Offset(2)));
    assert_eq!(log.offset_by_timestamp(1).unwrap().unwrap().offset, Offset(2));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Against a list of all records: every offset, every time, in segments and indexes of every size.
    #[test]
    fn look_ups_agree_with_a_linear_search(
        sizes in prop::collection::vec((1usize..6, 0i64..200), 1..60),
        segment_bytes in 150u32..2000,
        interval in 0u32..400,
        reopened: bool,
    ) {
        let config = LogConfig { segment_bytes, index_interval_bytes: interval, max_message_bytes: 150, ..small() };
        let disk = SimDisk::new(1);
        let mut log = create(&disk, config.clone());
        let mut all: Vec<(i64, i64)> = Vec::new();
        for (count, time) in sizes {
            let times: Vec<i64> = (0..count as i64).map(|index| (time * 31 + index * 7) % 200).collect();
            let appended = append(&mut log, &timed(&times, Compression::NONE));
            all.extend((appended.first_offset.0..).zip(times));
        }
        if reopened {
            log.close().unwrap();
            log = reopen(&disk, config, Shutdown::Clean, 0).0;
        }
        let end = log.log_end_offset();
        for (offset, _) in &all {
            let read = log.read(Offset(*offset), 1, end, FirstBatch::Whole).unwrap();
            let bytes = read.records.to_bytes().unwrap();
            let batch = batches(&bytes).next().unwrap().unwrap();
            prop_assert!(batch.header().base_offset.0 <= *offset && *offset < batch.header().next_offset().0);
        }
        for time in 0..=200 {
            let expected = all.iter().find(|(_, at)| *at >= time).copied();
            let found = log.offset_by_timestamp(time).unwrap().map(|found| (found.offset.0, found.timestamp));
            prop_assert_eq!(found, expected, "time {}", time);
        }
        let largest = all.iter().map(|(_, time)| *time).max().unwrap();
        let expected = all.iter().find(|(_, time)| *time == largest).map(|(offset, _)| *offset);
        let found = log.offset_of_max_timestamp().unwrap().map(|found| found.offset.0);
        prop_assert_eq!(found, expected);
    }
}
