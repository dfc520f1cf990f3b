//! Bytes that are no message: each is refused with its reason, at once, and with no memory taken on its word.

use bytes::Bytes;
use wire::header::RequestHeader;
use wire::messages::fetch::{FetchRequest, FetchResponse};
use wire::messages::join_group::JoinGroupRequest;
use wire::messages::metadata::MetadataRequest;
use wire::messages::produce::ProduceRequest;
use wire::{ApiKey, DecodeError, DecodeReason, Message, Reader};

use crate::catalogue::{catalogue, hex, unhex};
use crate::vectors::vectors;

fn reason<T: std::fmt::Debug>(outcome: Result<T, DecodeError>) -> DecodeReason {
    outcome.expect_err("the bytes are refused").reason
}

fn decode<M: Message + std::fmt::Debug>(version: i16, bytes: &str) -> Result<M, DecodeError> {
    M::decode_all(unhex(&bytes.replace(' ', "")).into(), version)
}

#[test]
fn a_message_cut_short_anywhere_is_refused() {
    let catalogue = catalogue();
    for vector in vectors() {
        let read = catalogue[vector.message.as_str()].read;
        for length in 0..vector.bytes.len() {
            let outcome = read(&mut Reader::new(vector.bytes.slice(..length)), vector.version);
            assert!(
                outcome.is_err(),
                "{} {} {}",
                vector.message,
                vector.version,
                hex(&vector.bytes[..length])
            );
        }
    }
}

#[test]
fn bytes_behind_a_message_are_left_for_the_caller_to_count() {
    let catalogue = catalogue();
    for vector in vectors() {
        let entry = &catalogue[vector.message.as_str()];
        let longer = Bytes::from([&vector.bytes[..], &[0, 1, 2]].concat());
        let mut reader = Reader::new(longer.clone());
        (entry.read)(&mut reader, vector.version).expect("the message itself is sound");
        assert_eq!(reader.remaining(), 3);
        let strict = (entry.decode)(longer, vector.version).map(|decoded| decoded.value);
        assert_eq!(reason(strict), DecodeReason::TrailingBytes(3));
    }
}

#[test]
fn no_changed_byte_makes_decoding_panic_and_what_decodes_still_encodes_to_the_same_value() {
    let catalogue = catalogue();
    for vector in vectors() {
        let decode = catalogue[vector.message.as_str()].decode;
        for index in 0..vector.bytes.len() {
            for change in [1 << (index % 8), 0x80 | index as u8] {
                let mut bytes = vector.bytes.to_vec();
                bytes[index] ^= change;
                let Ok(decoded) = decode(bytes.into(), vector.version) else {
                    continue;
                };
                let encoded = decoded.encoded.expect("what was decoded can be encoded");
                let again = decode(encoded, vector.version).expect("what was encoded can be decoded");
                // As text: a NaN equals itself there.
                assert_eq!(
                    again.value.to_string(),
                    decoded.value.to_string(),
                    "{}",
                    vector.message
                );
            }
        }
    }
}

#[test]
fn an_array_longer_than_the_rest_of_the_frame_is_refused_before_it_is_allocated() {
    let topics = decode::<MetadataRequest>(1, "7fffffff 0001");
    assert_eq!(
        reason(topics),
        DecodeReason::CountTooLarge {
            count: 0x7fff_ffff,
            left: 2
        }
    );
    let topics = decode::<MetadataRequest>(13, "ffffffff0f 00 00 00");
    assert_eq!(
        reason(topics),
        DecodeReason::CountTooLarge {
            count: 0xffff_fffe,
            left: 3
        }
    );
    // Three partitions of a FetchRequest need 48 bytes in version 4, 47 are there.
    let partitions = format!(
        "ffffffff 00000000 00000000 00000000 00 00000001 0000 00000003 {}",
        "00".repeat(47)
    );
    assert_eq!(
        reason(decode::<FetchRequest>(4, &partitions)),
        DecodeReason::CountTooLarge { count: 3, left: 47 }
    );
}

#[test]
fn a_string_longer_than_the_rest_of_the_frame_is_refused() {
    let group = decode::<JoinGroupRequest>(0, "7fff 61");
    assert_eq!(
        reason(group),
        DecodeReason::Truncated {
            needed: 0x7fff,
            left: 1
        }
    );
    let group = decode::<JoinGroupRequest>(6, "ffffffff0f 61");
    assert_eq!(
        reason(group),
        DecodeReason::Truncated {
            needed: 0xffff_fffe,
            left: 1
        }
    );
    let records = decode::<ProduceRequest>(
        3,
        "ffff 0001 00000000 00000001 0001 61 00000001 00000000 7fffffff 00",
    );
    assert_eq!(
        reason(records),
        DecodeReason::Truncated {
            needed: 0x7fff_ffff,
            left: 1
        }
    );
}

#[test]
fn a_negative_length_other_than_null_is_refused() {
    assert_eq!(
        reason(decode::<JoinGroupRequest>(0, "fffe")),
        DecodeReason::NegativeLength(-2)
    );
    assert_eq!(
        reason(decode::<MetadataRequest>(1, "80000000")),
        DecodeReason::NegativeLength(i32::MIN)
    );
}

#[test]
fn null_is_refused_where_the_version_knows_none() {
    assert_eq!(reason(decode::<JoinGroupRequest>(0, "ffff")), DecodeReason::Null);
    assert_eq!(reason(decode::<JoinGroupRequest>(6, "00")), DecodeReason::Null);
    // The topics of a MetadataRequest can be null from version 1 on.
    assert_eq!(
        reason(decode::<MetadataRequest>(0, "ffffffff")),
        DecodeReason::Null
    );
    assert_eq!(
        decode::<MetadataRequest>(1, "ffffffff")
            .expect("null means all topics")
            .topics,
        None
    );
}

#[test]
fn a_varint_longer_than_five_bytes_or_beyond_32_bits_is_refused() {
    let length = |bytes: &str| reason(decode::<JoinGroupRequest>(6, bytes));
    assert_eq!(length("8080808080 00"), DecodeReason::VarintTooLong);
    assert_eq!(length("ffffffff1f"), DecodeReason::VarintTooLong);
    assert_eq!(length("ffffffff8f 00"), DecodeReason::VarintTooLong);
    // A longer form of a small number is no error, as in Kafka.
    assert_eq!(
        length("8280808000"),
        DecodeReason::Truncated { needed: 1, left: 0 }
    );
}

#[test]
fn tagged_fields_must_fit_ascend_and_take_their_size() {
    // FetchRequest 12 up to its tagged section.
    let body = "ffffffff 00000000 00000000 7fffffff 00 00000000 ffffffff 01 01 01";
    let tagged = |section: &str| decode::<FetchRequest>(12, &format!("{body} {section}"));
    let count = reason(tagged("ffffffff0f 0000"));
    assert_eq!(
        count,
        DecodeReason::CountTooLarge {
            count: 0xffff_ffff,
            left: 2
        }
    );
    assert_eq!(
        reason(tagged("02 0000 0000")),
        DecodeReason::TagSize { size: 0, taken: 1 }
    );
    assert_eq!(
        reason(tagged("02 0500 0500")),
        DecodeReason::TagOrder { tag: 5, previous: 5 }
    );
    assert_eq!(
        reason(tagged("02 0500 0400")),
        DecodeReason::TagOrder { tag: 4, previous: 5 }
    );
    assert_eq!(
        reason(tagged("01 05ff7f 00")),
        DecodeReason::Truncated {
            needed: 16383,
            left: 1
        }
    );
    assert_eq!(
        reason(tagged("01 0004 0261 0000")),
        DecodeReason::TagSize { size: 4, taken: 2 }
    );
    let known_and_unknown = tagged("02 00020261 0503616263").expect("unknown tags are skipped");
    assert_eq!(known_and_unknown.cluster_id.as_deref(), Some("a"));
    // Tag 1, the replica's state, exists from version 15 on; before, it is an unknown tag.
    assert!(tagged("01 010161").is_ok());
}

#[test]
fn an_unknown_tag_is_not_written_again() {
    let bytes = "ffffffff 00000000 00000000 7fffffff 00 00000000 ffffffff 01 01 01 01 0503616263";
    let request = decode::<FetchRequest>(12, bytes).expect("an unknown tag is skipped");
    assert_eq!(hex(&request.to_bytes(12).expect("encodes")[25..]), "01010100");
}

#[test]
fn the_memory_of_all_elements_together_is_bounded() {
    // 8 Mi empty strings take 16 MiB on the wire and would take 256 MiB in memory.
    let count = 8_i32 << 20;
    let mut bytes = Bytes::from([&count.to_be_bytes()[..], &vec![0; 16 << 20]].concat());
    let groups =
        wire::messages::describe_groups::DescribeGroupsRequest::decode(&mut Reader::new(bytes.clone()), 0);
    assert_eq!(
        reason(groups),
        DecodeReason::BudgetExceeded {
            limit: wire::ELEMENT_BUDGET
        }
    );
    // A small budget holds for arrays in arrays: the elements are counted over the whole frame.
    let request = FetchResponse {
        responses: vec![Default::default(); 100],
        ..FetchResponse::default()
    };
    bytes = request.to_bytes(4).expect("encodes");
    let each = size_of::<wire::messages::fetch::FetchableTopicResponse>();
    let enough = 100 * each + 101 * 16;
    assert!(FetchResponse::decode(&mut Reader::with_budget(bytes.clone(), enough), 4).is_ok());
    let limit = enough - 1;
    let too_little = FetchResponse::decode(&mut Reader::with_budget(bytes, limit), 4);
    assert_eq!(reason(too_little), DecodeReason::BudgetExceeded { limit });
}

#[test]
fn metadata_for_more_topics_than_the_frame_holds_is_refused() {
    for version in 0..=13 {
        let count = if version < 9 { "7fffffff" } else { "ffffffff07" };
        let outcome = decode::<MetadataRequest>(version, &format!("{count} 0000000000000000"));
        assert!(
            matches!(reason(outcome), DecodeReason::CountTooLarge { .. }),
            "version {version}"
        );
    }
}

#[test]
fn a_string_that_is_not_utf_8_is_refused() {
    assert_eq!(
        reason(decode::<JoinGroupRequest>(0, "0002 c328")),
        DecodeReason::InvalidUtf8
    );
}

#[test]
fn a_negative_byte_before_a_struct_is_null_and_any_other_means_it_follows() {
    use wire::messages::describe_topic_partitions::DescribeTopicPartitionsRequest as Request;
    let null = decode::<Request>(0, "01 000007d0 ff 00").expect("a null cursor");
    assert_eq!(null.cursor, None);
    let present = decode::<Request>(0, "01 000007d0 01 0261 00000003 00 00").expect("a cursor");
    assert_eq!(present.cursor.map(|cursor| cursor.partition_index), Some(3));
    let present = decode::<Request>(0, "01 000007d0 00 0261 00000003 00 00").expect("a cursor");
    assert!(present.cursor.is_some());
    assert_eq!(
        reason(decode::<Request>(0, "01 000007d0 01")),
        DecodeReason::Truncated { needed: 1, left: 0 }
    );
}

#[test]
fn a_version_the_message_does_not_have_is_refused() {
    let unsupported = |version| DecodeReason::UnsupportedVersion {
        message: "FetchRequest",
        version,
    };
    for version in [i16::MIN, -1, 3, 19, i16::MAX] {
        assert_eq!(
            reason(decode::<FetchRequest>(version, "00")),
            unsupported(version)
        );
    }
}

#[test]
fn a_header_of_an_unknown_api_is_refused_and_one_of_an_unknown_version_is_read() {
    let read = |bytes: &str| RequestHeader::read_any(&mut Reader::new(unhex(&bytes.replace(' ', "")).into()));
    let unknown = DecodeReason::UnknownKey {
        kind: "api key",
        key: 4,
    };
    assert_eq!(reason(read("0004 0000 00000001 ffff")), unknown);
    assert_eq!(
        reason(read("0012")),
        DecodeReason::Truncated { needed: 4, left: 2 }
    );
    let (api, header) = read("0012 0063 00000007 0003 616263 00").expect("ApiVersions 99");
    assert_eq!(
        (api, header.request_api_version, header.correlation_id),
        (ApiKey::ApiVersions, 99, 7)
    );
    assert_eq!(header.client_id.as_deref(), Some("abc"));
}
