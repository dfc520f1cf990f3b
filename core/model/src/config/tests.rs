//! Tests of the table and of reading values.

use super::*;

fn all_keys() -> impl Iterator<Item = &'static ConfigKey> {
    broker_keys()
        .chain(topic_keys())
        .chain(group_keys())
        .chain(client_metrics_keys())
        .chain(client_metrics_keys())
}

fn broker(name: &str) -> &'static ConfigKey {
    broker_key(name).expect("declared")
}

#[test]
fn the_table_has_the_keys_of_kafka_and_our_own() {
    let own = |key: &&ConfigKey| key.doc.contains("Gracchus's own");
    assert_eq!(broker_keys().filter(|key| !own(key)).count(), 340);
    assert_eq!(
        topic_keys().iter().filter(|key| !own(key)).count(),
        33 + 1,
        "33 and internal.segment.bytes"
    );
    assert_eq!(group_keys().len(), 17);
}

#[test]
fn no_name_is_declared_twice() {
    for keys in [
        broker_keys().collect::<Vec<_>>(),
        topic_keys().iter().collect(),
        group_keys().iter().collect(),
    ] {
        for (at, key) in keys.iter().enumerate() {
            assert!(
                keys.iter().skip(at + 1).all(|other| other.name != key.name),
                "{}",
                key.name
            );
        }
    }
}

#[test]
fn every_default_is_a_valid_value_and_prints_as_it_was_written() {
    for key in all_keys() {
        if let Some(text) = key.default {
            let value = key.parse(text).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(value.to_string(), text, "{}", key.name);
        }
    }
}

#[test]
fn every_synonym_is_a_broker_key_with_the_same_default() {
    for key in topic_keys().iter().chain(group_keys()) {
        match key.synonyms {
            Synonyms::None => {}
            Synonyms::Same(name) => assert_eq!(broker(name).default, key.default, "{}", key.name),
            Synonyms::Units(names) => {
                let default = names
                    .iter()
                    .find_map(|(name, unit)| Some((broker(name).default?.parse::<i64>().ok()?, unit)));
                let (number, unit) = default.expect("one of them has a default");
                assert_eq!(
                    Some((number * unit).to_string().as_str()),
                    key.default,
                    "{}",
                    key.name
                );
            }
        }
    }
}

#[test]
fn values_outside_their_range_are_refused() {
    let wrong = [
        ("log.segment.bytes", "1048575"),
        ("log.segment.bytes", "2147483648"),
        ("compression.gzip.level", "0"),
        ("compression.gzip.level", "10"),
        ("log.cleaner.min.cleanable.ratio", "1.1"),
        ("log.cleaner.min.cleanable.ratio", "NaN"),
        ("offsets.topic.replication.factor", "32768"),
        ("auto.create.topics.enable", "yes"),
        ("log.cleanup.policy", "compact,delete,compact"),
        ("log.cleanup.policy", "shred"),
        ("log.message.timestamp.type", "createtime"),
        ("num.io.threads", ""),
        ("num.io.threads", "eight"),
    ];
    for (name, text) in wrong {
        assert!(broker(name).parse(text).is_err(), "{name}={text}");
    }
}

#[test]
fn values_are_read_in_their_types() {
    assert_eq!(
        broker("compression.gzip.level").parse("-1"),
        Ok(Value::Integer(-1))
    );
    assert_eq!(
        broker("auto.create.topics.enable").parse(" TRUE "),
        Ok(Value::Boolean(true))
    );
    assert_eq!(
        broker("log.cleanup.policy").parse("compact , delete"),
        Ok(Value::List(vec!["compact".to_owned(), "delete".to_owned()]))
    );
    assert_eq!(
        broker("log.cleanup.policy").parse(""),
        Ok(Value::List(Vec::new()))
    );
    assert_eq!(
        broker("group.consumer.migration.policy").parse("Upgrade"),
        Ok(Value::Text("Upgrade".to_owned()))
    );
    let throttled = topic_key("leader.replication.throttled.replicas").expect("declared");
    for (text, good) in [
        ("*", true),
        ("0:1,1:2", true),
        ("", true),
        ("0", false),
        ("0:a", false),
        ("*,0:1", false),
    ] {
        assert_eq!(throttled.parse(text).is_ok(), good, "{text}");
    }
}

#[test]
fn an_error_names_the_key_the_value_and_what_is_allowed() {
    let error = broker("log.segment.bytes").parse("10").expect_err("too small");
    assert_eq!(
        error.to_string(),
        "log.segment.bytes=\"10\" is not allowed: it must be a whole number from 1048576 to 2147483647"
    );
    let error = broker("log.durability").parse("maybe").expect_err("unknown");
    assert_eq!(
        error.to_string(),
        "log.durability=\"maybe\" is not allowed: it must be one of fsync, pagecache"
    );
}

#[test]
fn a_password_is_never_in_an_error() {
    let key = ConfigKey {
        valid: Valid::NotEmpty,
        ..copy(broker("ssl.key.password"))
    };
    let hidden = key.parse(" ").expect_err("empty").to_string();
    assert!(hidden.contains("***"), "{hidden}");
}

fn copy(key: &ConfigKey) -> ConfigKey {
    ConfigKey { ..*key }
}

#[test]
fn a_topic_is_checked_as_a_whole() {
    let check = |settings: &[(&str, &str)]| {
        validate_topic_configs(settings.iter().map(|(name, text)| (*name, Some(*text))))
            .map_err(|e| e.to_string())
    };
    assert_eq!(
        check(&[
            ("cleanup.policy", "compact"),
            ("retention.ms", "-1"),
            ("durability", "pagecache")
        ]),
        Ok(())
    );
    assert_eq!(
        check(&[("no.such", "1")]),
        Err("unknown topic config name: no.such".to_owned())
    );
    assert!(check(&[("segment.bytes", "1000")]).is_err());
    assert!(check(&[("remote.storage.enable", "true")]).is_err());
    assert!(check(&[("min.compaction.lag.ms", "2"), ("max.compaction.lag.ms", "1")]).is_err());
    assert_eq!(check(&[("internal.segment.bytes", "1000")]), Ok(()));
    assert!(validate_topic_configs([("retention.ms", None)]).is_err());
}
