//! Moving a group to other offsets: which partitions, to where, within what there is.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use client::{Client, CommittedOffset, IsolationLevel, OffsetSpec, WhenMissing};
use model::TopicPartition;

use crate::failure::Usage;

/// Where to move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Earliest,
    Latest,
    /// Where the group is; where it has no offset, to the end.
    Current,
    Offset(i64),
    /// So many records on, or back.
    Shift(i64),
    /// To the first record of at least this time, in milliseconds since 1970.
    Time(i64),
    /// Each partition to its own offset.
    Each(BTreeMap<TopicPartition, i64>),
}

impl Target {
    /// Reads `earliest`, `latest`, an offset, `+N`, `-N`, `@MILLISECONDS`.
    pub(crate) fn parse(text: &str) -> Result<Target, String> {
        let wrong = || {
            format!(
                "`{text}` is no place to move to; expected earliest, latest, an offset, +N, -N or @milliseconds"
            )
        };
        match (text, text.split_at_checked(1)) {
            ("earliest", _) => Ok(Target::Earliest),
            ("latest", _) => Ok(Target::Latest),
            (_, Some(("@", time))) => time.parse().map(Target::Time).map_err(|_| wrong()),
            (_, Some(("+" | "-", _))) => text.parse().map(Target::Shift).map_err(|_| wrong()),
            _ => text.parse().map(Target::Offset).map_err(|_| wrong()),
        }
    }
}

/// What is to be set, and what was adjusted on the way.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub(crate) offsets: BTreeMap<TopicPartition, i64>,
    pub(crate) notes: Vec<String>,
}

/// The partitions that `TOPIC` or `TOPIC:0,1` name.
pub(crate) async fn scope(client: &Client, topics: &[String]) -> anyhow::Result<Vec<TopicPartition>> {
    let mut partitions = Vec::new();
    for text in topics {
        let (name, indexes) = match text.split_once(':') {
            Some((name, indexes)) => (name, Some(indexes)),
            None => (text.as_str(), None),
        };
        let topic = client.topic(name, WhenMissing::Fail).await?;
        let Some(indexes) = indexes else {
            let all = topic.partitions.iter();
            partitions.extend(all.map(|partition| TopicPartition::new(topic.name.clone(), partition.index)));
            continue;
        };
        for index in indexes.split(',') {
            let index: i32 = index
                .trim()
                .parse()
                .map_err(|_| Usage(format!("`{index}` is no partition")))?;
            partitions.push(TopicPartition::new(topic.name.clone(), index));
        }
    }
    Ok(partitions)
}

/// The offset each partition would be moved to, never outside of what the partition has.
pub(crate) async fn plan(
    client: &Client,
    partitions: &[TopicPartition],
    committed: &BTreeMap<TopicPartition, CommittedOffset>,
    target: &Target,
) -> anyhow::Result<Plan> {
    let earliest = find(client, partitions, OffsetSpec::Earliest).await?;
    let latest = find(client, partitions, OffsetSpec::Latest).await?;
    let by_time = match target {
        Target::Time(time) => find(client, partitions, OffsetSpec::Timestamp(*time)).await?,
        _ => BTreeMap::new(),
    };
    let mut plan = Plan::default();
    for partition in partitions {
        let first = earliest.get(partition).copied().unwrap_or(0);
        let end = latest.get(partition).copied().unwrap_or(first);
        let current = committed.get(partition).map(|committed| committed.offset);
        let wanted = match target {
            Target::Earliest => first,
            Target::Latest => end,
            Target::Current => current.unwrap_or(end),
            Target::Offset(offset) => *offset,
            Target::Shift(by) => {
                let Some(current) = current else {
                    plan.notes.push(format!("{partition} has no offset to shift"));
                    continue;
                };
                current.saturating_add(*by)
            }
            Target::Time(_) => by_time.get(partition).copied().unwrap_or(end),
            Target::Each(offsets) => offsets.get(partition).copied().unwrap_or(end),
        };
        plan.notes.extend(adjustment(partition, wanted, first, end));
        plan.offsets
            .insert(partition.clone(), wanted.clamp(first, end.max(first)));
    }
    Ok(plan)
}

fn adjustment(partition: &TopicPartition, wanted: i64, first: i64, end: i64) -> Option<String> {
    let (than, bound) = if wanted > end {
        ("higher than latest", end)
    } else if wanted < first {
        ("lower than earliest", first)
    } else {
        return None;
    };
    Some(format!(
        "New offset ({wanted}) is {than} offset for topic partition {partition}. Value will be set to {bound}"
    ))
}

async fn find(
    client: &Client,
    partitions: &[TopicPartition],
    spec: OffsetSpec,
) -> anyhow::Result<BTreeMap<TopicPartition, i64>> {
    let wanted = partitions
        .iter()
        .map(|partition| (partition.clone(), spec))
        .collect();
    let found = client
        .list_offsets(&wanted, IsolationLevel::ReadUncommitted)
        .await?;
    let mut offsets = BTreeMap::new();
    for (partition, outcome) in found {
        let found = outcome.map_err(|error| anyhow::Error::from(error).context(partition.to_string()))?;
        if let Some(offset) = found.offset {
            offsets.insert(partition, offset);
        }
    }
    Ok(offsets)
}

/// Commits the planned offsets.
pub(crate) async fn execute(
    client: &Client,
    group: &str,
    offsets: &BTreeMap<TopicPartition, i64>,
) -> anyhow::Result<()> {
    let committed = |(partition, offset): (&TopicPartition, &i64)| {
        let committed = CommittedOffset {
            offset: *offset,
            leader_epoch: -1,
            metadata: String::new(),
        };
        (partition.clone(), committed)
    };
    let outcomes = client
        .alter_offsets(group, &offsets.iter().map(committed).collect())
        .await?;
    for (partition, outcome) in outcomes {
        outcome.map_err(|error| anyhow::Error::from(error).context(partition.to_string()))?;
    }
    Ok(())
}

/// Milliseconds since 1970 of `YYYY-MM-DDThh:mm[:ss[.sss]][Z|+hh:mm|-hhmm]`; without a zone it is UTC.
pub(crate) fn parse_datetime(text: &str) -> Option<i64> {
    let (date, time) = text.split_once('T')?;
    let mut parts = date.splitn(3, '-').map(|part| part.parse::<i64>().ok());
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    let zone_at = time.find(['Z', '+', '-']).unwrap_or(time.len());
    let (time, zone) = time.split_at(zone_at);
    let (clock, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let mut parts = clock.splitn(3, ':').map(|part| part.parse::<i64>().ok());
    let (hour, minute, second) = (parts.next()??, parts.next()??, parts.next().unwrap_or(Some(0))?);
    let millisecond: i64 = format!("{fraction:0<3}").get(..3)?.parse().ok()?;
    let zone_minutes = match zone.trim_start_matches('Z').replace(':', "").as_str() {
        "" => 0,
        zone => {
            let (sign, digits) = zone.split_at_checked(1)?;
            let (hours, minutes) = digits.split_at_checked(2)?;
            let minutes = if minutes.is_empty() {
                0
            } else {
                minutes.parse().ok()?
            };
            let size = hours.parse::<i64>().ok()? * 60 + minutes;
            if sign == "-" { -size } else { size }
        }
    };
    let is_valid = (1..=12).contains(&month) && (1..=31).contains(&day) && (1..=9999).contains(&year);
    let is_time = (0..24).contains(&hour) && (0..60).contains(&minute) && (0..61).contains(&second);
    if !(is_valid && is_time) {
        return None;
    }
    let minutes = (days_since_1970(year, month, day) * 24 + hour) * 60 + minute - zone_minutes;
    Some((minutes * 60 + second) * 1000 + millisecond)
}

/// The days from the first of January 1970, by the usual reckoning with years that begin in March.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// The time so long ago as an ISO duration such as `P1DT2H30M` says, in milliseconds since 1970.
pub(crate) fn parse_ago(text: &str) -> Option<i64> {
    let duration = parse_duration(text)?;
    let then = SystemTime::now()
        .checked_sub(duration)?
        .duration_since(UNIX_EPOCH)
        .ok()?;
    i64::try_from(then.as_millis()).ok()
}

fn parse_duration(text: &str) -> Option<Duration> {
    let rest = text.strip_prefix('P')?;
    let (days, time) = rest.split_once('T').unwrap_or((rest, ""));
    if rest.is_empty() || rest.ends_with('T') {
        return None;
    }
    let mut seconds = 0.0;
    for (part, units) in [
        (days, &[('D', 86_400.0)][..]),
        (time, &[('H', 3600.0), ('M', 60.0), ('S', 1.0)]),
    ] {
        let mut part = part;
        for (unit, size) in units {
            if let Some((number, rest)) = part.split_once(*unit) {
                seconds += number.parse::<f64>().ok()? * size;
                part = rest;
            }
        }
        if !part.is_empty() {
            return None;
        }
    }
    Duration::try_from_secs_f64(seconds).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_to_move_to_are_told_apart() {
        assert_eq!(Target::parse("earliest"), Ok(Target::Earliest));
        assert_eq!(Target::parse("7"), Ok(Target::Offset(7)));
        assert_eq!(Target::parse("+7"), Ok(Target::Shift(7)));
        assert_eq!(Target::parse("-7"), Ok(Target::Shift(-7)));
        assert_eq!(Target::parse("@7"), Ok(Target::Time(7)));
        assert!(Target::parse("start").unwrap_err().contains("expected earliest"));
    }

    #[test]
    fn an_offset_outside_of_the_partition_is_noted() {
        let partition = TopicPartition::new("t", 0);
        assert_eq!(adjustment(&partition, 5, 0, 9), None);
        assert!(adjustment(&partition, 10, 0, 9).unwrap().ends_with("set to 9"));
        assert!(
            adjustment(&partition, -1, 2, 9)
                .unwrap()
                .contains("lower than earliest")
        );
    }

    #[test]
    fn dates_and_times_are_read_with_their_zones() {
        assert_eq!(parse_datetime("1970-01-01T00:00:00.000"), Some(0));
        assert_eq!(parse_datetime("2021-01-01T00:00:00.000"), Some(1_609_459_200_000));
        assert_eq!(parse_datetime("2024-02-29T12:30:15.5Z"), Some(1_709_209_815_500));
        assert_eq!(parse_datetime("2024-02-29T12:30+01:00"), Some(1_709_206_200_000));
        assert_eq!(parse_datetime("2024-02-29T12:30-0130"), Some(1_709_215_200_000));
        for bad in [
            "2024-02-29",
            "2024-13-01T00:00",
            "2024-01-01Tnoon",
            "",
            "T",
            "2024-01-01T00:00+x",
        ] {
            assert_eq!(parse_datetime(bad), None, "{bad}");
        }
    }

    #[test]
    fn durations_are_read() {
        assert_eq!(parse_duration("P1D"), Some(Duration::from_secs(86_400)));
        assert_eq!(parse_duration("PT1H30M"), Some(Duration::from_secs(5400)));
        assert_eq!(
            parse_duration("P2DT0.5S"),
            Some(Duration::from_millis(172_800_500))
        );
        for bad in ["", "P", "1D", "PT", "P1H", "PT1X"] {
            assert_eq!(parse_duration(bad), None, "{bad}");
        }
    }
}
