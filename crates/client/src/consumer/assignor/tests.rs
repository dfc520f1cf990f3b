//! Assignments as a leader computes them.

use super::*;

fn member(id: &str, topics: &[&str]) -> Member {
    Member {
        id: id.to_owned(),
        topics: topics.iter().map(|topic| Arc::from(*topic)).collect(),
        generation: -1,
        ..Member::default()
    }
}

fn topics(counts: &[(&str, i32)]) -> BTreeMap<Arc<str>, i32> {
    counts
        .iter()
        .map(|(topic, count)| (Arc::from(*topic), *count))
        .collect()
}

/// `id: topic-partition ...` a line, in the order given.
fn print(assignment: &Assignment) -> String {
    let lines = assignment.iter().map(|(id, given)| {
        let given: Vec<String> = given.iter().map(TopicPartition::to_string).collect();
        format!("{id}: {}\n", given.join(" "))
    });
    lines.collect()
}

/// What members say about themselves after they took an assignment.
fn after(members: &[Member], assignment: &Assignment, generation: i32) -> Vec<Member> {
    let took = |member: &Member| Member {
        owned: assignment[&member.id].clone(),
        generation,
        ..member.clone()
    };
    members.iter().map(took).collect()
}

fn loads(assignment: &Assignment) -> Vec<usize> {
    assignment.values().map(Vec::len).collect()
}

#[test]
fn range_gives_neighbours_together_and_the_rest_to_the_first() {
    let members = [
        member("b", &["t", "u"]),
        member("a", &["t", "u"]),
        member("c", &["u"]),
    ];
    let assignment = Assignor::Range.assign(&members, &topics(&[("t", 3), ("u", 2), ("nobody", 4)]));
    assert_eq!(print(&assignment), "a: t-0 t-1 u-0\nb: t-2 u-1\nc: \n");
}

#[test]
fn static_members_come_first_by_their_names() {
    let mut members = [member("a", &["t"]), member("z", &["t"]), member("y", &["t"])];
    members[1].instance_id = Some("one".to_owned());
    members[2].instance_id = Some("two".to_owned());
    let assignment = Assignor::Range.assign(&members, &topics(&[("t", 3)]));
    assert_eq!(print(&assignment), "a: t-2\ny: t-1\nz: t-0\n");
}

#[test]
fn round_robin_deals_across_topics_and_skips_who_does_not_want_one() {
    let members = [
        member("a", &["t", "u"]),
        member("b", &["u"]),
        member("c", &["t", "u"]),
    ];
    let assignment = Assignor::RoundRobin.assign(&members, &topics(&[("t", 3), ("u", 3)]));
    assert_eq!(print(&assignment), "a: t-0 t-2 u-2\nb: u-0\nc: t-1 u-1\n");
}

#[test]
fn a_topic_that_does_not_exist_gives_nothing() {
    for assignor in Assignor::ALL {
        let assignment = assignor.assign(&[member("a", &["gone"])], &topics(&[("t", 3)]));
        assert_eq!(print(&assignment), "a: \n", "{}", assignor.name());
    }
}

#[test]
fn sticky_is_even_and_moves_only_what_it_must_over_two_rounds() {
    let counts = topics(&[("t", 9)]);
    let two = [member("a", &["t"]), member("b", &["t"])];
    let first = Assignor::CooperativeSticky.assign(&two, &counts);
    assert_eq!(loads(&first), [5, 4]);

    let mut three = after(&two, &first, 1);
    three.push(member("c", &["t"]));
    let giving_up = Assignor::CooperativeSticky.assign(&three, &counts);
    assert_eq!(
        loads(&giving_up),
        [3, 3, 0],
        "what moves is held back for a round"
    );
    for (id, given) in &giving_up {
        let owned = &three.iter().find(|m| &m.id == id).unwrap().owned;
        assert!(given.iter().all(|partition| owned.contains(partition)));
    }

    let three = after(&three, &giving_up, 2);
    let settled = Assignor::CooperativeSticky.assign(&three, &counts);
    assert_eq!(loads(&settled), [3, 3, 3]);
    assert_eq!(settled["a"], giving_up["a"]);
    assert_eq!(settled["b"], giving_up["b"]);

    let again = Assignor::CooperativeSticky.assign(&after(&three, &settled, 3), &counts);
    assert_eq!(again, settled, "nothing moves when nothing changed");
}

#[test]
fn a_member_that_left_is_replaced_without_moving_the_rest() {
    let counts = topics(&[("t", 6)]);
    let three = [member("a", &["t"]), member("b", &["t"]), member("c", &["t"])];
    let before = Assignor::CooperativeSticky.assign(&three, &counts);
    let two = &after(&three, &before, 4)[..2];
    let now = Assignor::CooperativeSticky.assign(two, &counts);
    assert_eq!(loads(&now), [3, 3]);
    for id in ["a", "b"] {
        assert!(before[id].iter().all(|partition| now[id].contains(partition)));
    }
}

#[test]
fn of_two_claims_to_a_partition_the_later_generation_counts() {
    let counts = topics(&[("t", 2)]);
    let mut members = [member("a", &["t"]), member("b", &["t"])];
    members[0].owned = vec![TopicPartition::new("t", 0), TopicPartition::new("t", 1)];
    members[0].generation = 3;
    members[1].owned = vec![TopicPartition::new("t", 0)];
    members[1].generation = 5;
    let assignment = Assignor::CooperativeSticky.assign(&members, &counts);
    assert_eq!(print(&assignment), "a: t-1\nb: t-0\n");
}

#[test]
fn different_subscriptions_are_evened_out_as_far_as_they_allow() {
    let counts = topics(&[("t", 4), ("u", 4)]);
    let members = [
        member("a", &["t"]),
        member("b", &["t", "u"]),
        member("c", &["t", "u"]),
    ];
    let assignment = Assignor::CooperativeSticky.assign(&members, &counts);
    assert_eq!(assignment.values().map(Vec::len).sum::<usize>(), 8);
    assert!(assignment["a"].iter().all(|partition| &*partition.topic == "t"));
    let loads = loads(&assignment);
    assert!(
        loads.iter().max().unwrap() - loads.iter().min().unwrap() <= 1,
        "{loads:?}"
    );
}

#[test]
fn javas_class_names_are_known() {
    for assignor in Assignor::ALL {
        assert_eq!(Assignor::by_name(assignor.name()), Some(assignor));
    }
    let class = "org.apache.kafka.clients.consumer.CooperativeStickyAssignor";
    assert_eq!(Assignor::by_name(class), Some(Assignor::CooperativeSticky));
    assert_eq!(Assignor::by_name("sticky"), None);
}
