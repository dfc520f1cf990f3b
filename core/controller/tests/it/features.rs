//! The first records of a cluster, as Apache Kafka's format and first start write them.

use std::collections::BTreeMap;

use controller::{ChosenLevels, FeatureError, bootstrap_records, default_levels, format_records};
use metadata::{MetadataRecord, RecordVersions};

fn json(records: &[MetadataRecord]) -> Vec<String> {
    records
        .iter()
        .map(|record| record.to_json(record.version(RecordVersions::at(30))))
        .collect()
}

fn chosen(levels: &[(&str, i16)]) -> ChosenLevels {
    levels
        .iter()
        .map(|(name, level)| ((*name).to_owned(), *level))
        .collect()
}

fn feature(name: &str, level: i16) -> String {
    let data = format!("{{\"name\":\"{name}\",\"featureLevel\":{level}}}");
    format!("{{\"type\":\"FEATURE_LEVEL_RECORD\",\"version\":0,\"data\":{data}}}")
}

#[test]
fn a_plain_format_leaves_what_apache_kafka_leaves() {
    let levels = default_levels(None, &ChosenLevels::new()).unwrap();
    assert_eq!(levels["kraft.version"], 0);
    let expected = [
        feature("metadata.version", 30),
        feature("eligible.leader.replicas.version", 1),
        feature("group.version", 1),
        feature("share.version", 1),
        feature("streams.version", 1),
        feature("transaction.version", 2),
    ];
    assert_eq!(json(&format_records(&levels)), expected);

    let mut begins = vec![
        "{\"type\":\"BEGIN_TRANSACTION_RECORD\",\"version\":0,\"data\":{\"name\":\"Bootstrap records\"}}"
            .to_owned(),
    ];
    begins.extend(expected);
    begins.push(
        "{\"type\":\"CONFIG_RECORD\",\"version\":0,\"data\":{\"resourceType\":4,\"resourceName\":\"\",\
         \"name\":\"min.insync.replicas\",\"value\":\"1\"}}"
            .to_owned(),
    );
    begins.push("{\"type\":\"END_TRANSACTION_RECORD\",\"version\":0,\"data\":{}}".to_owned());
    assert_eq!(json(&bootstrap_records(&format_records(&levels), 1)), begins);
}

#[test]
fn an_older_release_and_chosen_levels_are_honoured() {
    let levels = default_levels(Some("3.9"), &chosen(&[("transaction.version", 1)])).unwrap();
    let expected = [feature("metadata.version", 21), feature("transaction.version", 1)];
    assert_eq!(json(&format_records(&levels)), expected);
    assert_eq!(
        bootstrap_records(&format_records(&levels), 1).len(),
        4,
        "no replica can be eligible yet"
    );

    let at = |release| {
        default_levels(Some(release), &ChosenLevels::new()).map(|levels| levels["metadata.version"])
    };
    assert_eq!(at("4.0"), Ok(25));
    assert_eq!(at("4.0-IV1"), Ok(23));
    assert_eq!(at("4.3.1"), Ok(30));
    assert_eq!(at("4.9"), Err(FeatureError::Release("4.9".to_owned())));
    assert_eq!(at(""), Err(FeatureError::Release(String::new())));
    let oldest = default_levels(Some("3.3-IV3"), &ChosenLevels::new()).unwrap();
    assert_eq!(
        bootstrap_records(&format_records(&oldest), 1).len(),
        1,
        "that level has no transactions"
    );
    let by_level = default_levels(None, &chosen(&[("metadata.version", 24), ("kraft.version", 1)])).unwrap();
    let on: BTreeMap<_, _> = by_level.into_iter().filter(|(_, level)| *level > 0).collect();
    let names = [
        "group.version",
        "kraft.version",
        "metadata.version",
        "transaction.version",
    ];
    assert_eq!(on.keys().copied().collect::<Vec<_>>(), names);
}

#[test]
fn levels_that_do_not_exist_or_do_not_fit_are_refused() {
    let refused = |release, levels: &[(&str, i16)]| default_levels(release, &chosen(levels)).unwrap_err();
    assert!(matches!(
        refused(None, &[("foo", 1)]),
        FeatureError::Unknown { .. }
    ));
    assert!(matches!(
        refused(None, &[("group.version", 2)]),
        FeatureError::Level { max: 1, .. }
    ));
    assert!(matches!(
        refused(None, &[("metadata.version", 31)]),
        FeatureError::Level { max: 30, .. }
    ));
    let needs = refused(Some("3.9"), &[("eligible.leader.replicas.version", 1)]);
    assert!(matches!(needs, FeatureError::Needs { needs: 23, .. }));
}
