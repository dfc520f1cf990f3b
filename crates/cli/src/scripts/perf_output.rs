//! What the scripts that measure have in common: the list of metrics, and times by a pattern of Java.

use std::fmt::Write as _;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::options::Misuse;

/// A metric of a group by its name.
pub(super) type Metric = (&'static str, f64);

/// The list that `--print-metrics` ends with: names in order, values with three decimals.
pub(super) fn metrics(groups: &[(&str, &str, &[Metric])]) -> String {
    let mut rows: Vec<(String, f64)> = Vec::new();
    for (group, tags, metrics) in groups {
        let name = |name: &str| format!("{group}:{name}:{{{tags}}}");
        rows.extend(metrics.iter().map(|(metric, value)| (name(metric), *value)));
    }
    rows.sort_by(|a, b| a.0.cmp(&b.0));
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
    let mut text = format!("\n{:width$}   Value\n", "Metric Name");
    for (name, value) in rows {
        let _ = writeln!(text, "{name:width$} : {value:.3}");
    }
    text
}

/// An average; NaN of nothing, as Java has it.
pub(super) fn average(total: f64, count: u64) -> f64 {
    total / count as f64
}

/// A pattern of `java.text.SimpleDateFormat`, of which the letters of numbers are known. Times are UTC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DatePattern(Vec<Piece>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    /// A letter, and how often it stands there.
    Field(char, usize),
}

impl DatePattern {
    pub(super) fn parse(pattern: &str) -> Result<DatePattern, Misuse> {
        let mut pieces = Vec::new();
        let mut letters = pattern.chars().peekable();
        while let Some(letter) = letters.next() {
            match letter {
                '\'' => {
                    let quoted: String = letters.by_ref().take_while(|letter| *letter != '\'').collect();
                    pieces.push(Piece::Text(if quoted.is_empty() {
                        "'".to_owned()
                    } else {
                        quoted
                    }));
                }
                'y' | 'M' | 'd' | 'H' | 'm' | 's' | 'S' => {
                    let mut count = 1;
                    while letters.next_if_eq(&letter).is_some() {
                        count += 1;
                    }
                    pieces.push(Piece::Field(letter, count));
                }
                letter if letter.is_ascii_alphabetic() => {
                    return Err(Misuse::plain(format!(
                        "Illegal pattern character '{letter}': only y, M, d, H, m, s and S are known here"
                    )));
                }
                letter => pieces.push(Piece::Text(letter.to_string())),
            }
        }
        Ok(DatePattern(pieces))
    }

    pub(super) fn format(&self, time: SystemTime) -> String {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
        let seconds = since.as_secs();
        let (year, month, day) = civil(seconds / 86_400);
        let mut text = String::new();
        for piece in &self.0 {
            let (value, width) = match piece {
                Piece::Text(literal) => {
                    text.push_str(literal);
                    continue;
                }
                Piece::Field('y', 2) => (year % 100, 2),
                Piece::Field('y', width) => (year, *width),
                Piece::Field('M', width) => (month, *width),
                Piece::Field('d', width) => (day, *width),
                Piece::Field('H', width) => (seconds / 3600 % 24, *width),
                Piece::Field('m', width) => (seconds / 60 % 60, *width),
                Piece::Field('s', width) => (seconds % 60, *width),
                Piece::Field(_, width) => (u64::from(since.subsec_millis()), *width),
            };
            let _ = write!(text, "{value:0width$}");
        }
        text
    }
}

/// Year, month and day of a number of days since 1970, by the calendar of 400 years that begin in March.
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let month = if from_march < 10 {
        from_march + 3
    } else {
        from_march - 9
    };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    (year, month, day_of_year - (153 * from_march + 2) / 5 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_written_as_javas_pattern_says() {
        let time = |milliseconds| UNIX_EPOCH + Duration::from_millis(milliseconds);
        let format = |pattern: &str, at| DatePattern::parse(pattern).unwrap().format(time(at));
        assert_eq!(
            format("yyyy-MM-dd HH:mm:ss:SSS", 1_796_008_014_494),
            "2026-11-30 03:06:54:494"
        );
        assert_eq!(
            format("d.M.yy 'o''clock'", 951_782_400_000),
            "29.2.00 o'clock".replace('\'', "")
        );
        assert_eq!(format("yyyy", 0), "1970");
        assert!(DatePattern::parse("yyyy Q").is_err());
    }

    #[test]
    fn metrics_stand_in_order_under_each_other() {
        let text = metrics(&[
            ("b", "client-id=c", &[("x", 1.0), ("long-one", f64::NAN)]),
            ("a", "t", &[("y", 2.5)]),
        ]);
        let expected = "
Metric Name                Value
a:y:{t}                  : 2.500
b:long-one:{client-id=c} : NaN
b:x:{client-id=c}        : 1.000
";
        assert_eq!(text, expected);
    }
}
