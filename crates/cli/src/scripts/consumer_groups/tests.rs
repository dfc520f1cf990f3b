//! The tables, compared with what Apache Kafka's script printed for the same groups.

use client::{Broker, CommittedOffset, GroupMember};

use super::*;

fn partitions(indexes: &[i32]) -> Vec<TopicPartition> {
    indexes
        .iter()
        .map(|index| TopicPartition::new("t1", *index))
        .collect()
}

fn member(id: &str, instance_id: Option<&str>, client_id: &str, indexes: &[i32]) -> GroupMember {
    GroupMember {
        id: id.to_owned(),
        instance_id: instance_id.map(str::to_owned),
        client_id: client_id.to_owned(),
        host: "/127.0.0.1".to_owned(),
        assignment: MemberAssignment {
            epoch: None,
            partitions: partitions(indexes),
        },
        target: None,
    }
}

fn group() -> GroupDescription {
    GroupDescription {
        id: "g2".to_owned(),
        state: "Stable".to_owned(),
        assignor: "range".to_owned(),
        protocol_type: "consumer".to_owned(),
        coordinator: Broker {
            id: 1,
            host: "127.0.0.1".to_owned(),
            port: 23092,
            rack: None,
        },
        members: vec![
            member("me-77ac6e2b-067c-49f4-976a-d3f7aa58e051", None, "me", &[2]),
            member(
                "inst1-c5b420a0-845f-4987-9643-414e1b465830",
                Some("inst1"),
                "me2",
                &[0, 1],
            ),
        ],
        epochs: None,
    }
}

fn states() -> Vec<PartitionState> {
    let group = group();
    let state = |index: i32, offset: Option<(i64, i32)>, end: i64, member: Option<usize>| PartitionState {
        partition: TopicPartition::new("t1", index),
        committed: offset.map(|(offset, leader_epoch)| CommittedOffset {
            offset,
            leader_epoch,
            metadata: String::new(),
        }),
        end: Some(end),
        member: member.map(|place| group.members[place].clone()),
    };
    vec![
        state(0, Some((1, 0)), 1, Some(1)),
        state(1, Some((0, -1)), 0, Some(1)),
        state(2, Some((20, 0)), 21, None),
    ]
}

#[test]
fn offsets_have_the_scripts_columns() {
    let expected = "
GROUP           TOPIC           PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG             CONSUMER-ID                                HOST            CLIENT-ID
g2              t1              0          1               1               0               inst1-c5b420a0-845f-4987-9643-414e1b465830 /127.0.0.1      me2
g2              t1              1          0               0               0               inst1-c5b420a0-845f-4987-9643-414e1b465830 /127.0.0.1      me2
g2              t1              2          20              21              1               -                                          -               -
";
    assert_eq!(offsets_table("g2", &states(), false), expected);
    let verbose = offsets_table("g2", &states()[1..2], true);
    assert!(
        verbose.contains(" PARTITION  LEADER-EPOCH    CURRENT-OFFSET  LOG-END-OFFSET  LAG "),
        "{verbose}"
    );
    assert!(
        verbose.contains(" 1          -               0               0               0 "),
        "{verbose}"
    );
    assert_eq!(offsets_table("g2", &[], false), "");
}

#[test]
fn members_have_the_scripts_columns() {
    let plain = "
GROUP           CONSUMER-ID                                GROUP-INSTANCE-ID HOST            CLIENT-ID       #PARTITIONS     $
g2              inst1-c5b420a0-845f-4987-9643-414e1b465830 inst1             /127.0.0.1      me2             2               $
g2              me-77ac6e2b-067c-49f4-976a-d3f7aa58e051                      /127.0.0.1      me              1               $
";
    assert_eq!(members_table(&group(), false), plain.replace('$', ""));
    let verbose = "
GROUP           CONSUMER-ID                                GROUP-INSTANCE-ID HOST            CLIENT-ID       #PARTITIONS     CURRENT-EPOCH   CURRENT-ASSIGNMENT   TARGET-EPOCH    TARGET-ASSIGNMENT   $
g2              inst1-c5b420a0-845f-4987-9643-414e1b465830 inst1             /127.0.0.1      me2             2               -               t1:0,1               -               -                   $
g2              me-77ac6e2b-067c-49f4-976a-d3f7aa58e051                      /127.0.0.1      me              1               -               t1:2                 -               -                   $
";
    assert_eq!(members_table(&group(), true), verbose.replace('$', ""));
}

#[test]
fn states_have_the_scripts_columns() {
    let expected = "
GROUP           COORDINATOR (ID)          ASSIGNMENT-STRATEGY  STATE                #MEMBERS
g2              127.0.0.1:23092  (1)      range                Stable               2
";
    assert_eq!(state_table(&group(), false), expected);
    let verbose = "
GROUP           COORDINATOR (ID)          ASSIGNMENT-STRATEGY  STATE                GROUP-EPOCH     TARGET-ASSIGNMENT-EPOCH   #MEMBERS
g2              127.0.0.1:23092  (1)      range                Stable               -               -                         2
";
    assert_eq!(state_table(&group(), true), verbose);
}

#[test]
fn lists_have_the_scripts_columns() {
    let listed = |id: &str, state: &str| ListedGroup {
        id: id.to_owned(),
        protocol_type: "consumer".to_owned(),
        state: state.to_owned(),
        group_type: "classic".to_owned(),
    };
    let groups = [listed("console-consumer-16608", "Empty"), listed("g2", "Stable")];
    assert_eq!(group_list(&groups, false, false), "console-consumer-16608\ng2\n");
    let both = "\
GROUP                            TYPE                 STATE               $
console-consumer-16608           Classic              Empty               $
g2                               Classic              Stable              $
";
    assert_eq!(group_list(&groups, true, true), both.replace('$', ""));
    let none = "GROUP                     STATE               \n";
    assert_eq!(group_list(&[], false, true), none);
}

#[test]
fn exported_offsets_are_read_back() {
    let of = |text: &str| parse_csv(text, "g");
    let expected = BTreeMap::from([(TopicPartition::new("t", 0), 3)]);
    assert_eq!(of("t,0,3\n\n"), Ok(expected.clone()));
    assert_eq!(of("\"g\",\"t\",0,3\nother,t,0,9\n"), Ok(expected));
    assert_eq!(of("t,0"), Err("t,0".to_owned()));
    assert_eq!(of("t,zero,3"), Err("t,zero,3".to_owned()));
}

#[test]
fn flags_that_are_missing_are_named() {
    let message = |line: &str| {
        let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let parsed = SCRIPT.parse(&arguments).unwrap();
        let action = parsed.exactly_one(&ACTIONS).unwrap_or("none");
        check(&parsed, action).unwrap_err().to_string()
    };
    let server = "--bootstrap-server h:1";
    assert_eq!(
        message(&format!("--describe --group g --state x {server}")),
        "Option [describe] does not take a value for [state]"
    );
    assert!(message(&format!("--describe {server}")).contains("[group], [all-groups]"));
    assert!(message(&format!("--reset-offsets --group g --topic t {server}")).contains("[to-earliest]"));
    assert!(
        message(&format!(
            "--reset-offsets --group g --topic t --to-offset x {server}"
        ))
        .contains("--to-offset")
    );
}
