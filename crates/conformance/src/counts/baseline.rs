//! The committed counts, and how far a row may move from them.

use std::fmt;

use anyhow::{Context as _, Result};

use super::Cost;
use super::trace::Row;

/// What to do about a move.
pub(super) const ADVICE: &str = "A cost moved. Where that is meant, run `cargo xtask counts --write` and give the reason in the \
     message of the commit that brings the new counts.";

const HEADING: &str = "# What a request costs the broker, counted by callgrind: `cargo xtask counts` compares, `--write` writes anew.\n\
     # The commit that moves a row gives the reason. Instructions may move by so many hundredths, the other two by so\n\
     # much: room for another compiler or machine, not for one more allocation a record.\n\
     row\tinstructions\t+-%\tsystem calls\t+-\tallocations\t+-\n";

/// Rows with their counts and tolerances.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Table {
    rows: Vec<Line>,
}

#[derive(Clone, Debug, PartialEq)]
struct Line {
    name: String,
    cost: Cost,
    tolerance: Cost,
}

impl Table {
    pub(super) fn add(&mut self, row: &Row, cost: Cost) {
        self.rows.push(Line {
            name: row.name.to_owned(),
            cost,
            tolerance: row.tolerance,
        });
    }

    pub(super) fn parse(text: &str) -> Result<Table> {
        let lines = text.lines().filter(|line| !line.starts_with('#')).skip(1);
        let rows = lines.map(|line| parse_line(line).with_context(|| format!("the line {line:?}")));
        Ok(Table {
            rows: rows.collect::<Result<_>>()?,
        })
    }

    /// The rows whose name contains this.
    pub(super) fn only(mut self, part: &str) -> Table {
        self.rows.retain(|line| line.name.contains(part));
        self
    }

    /// What `counted` has that is not within the tolerance of this table, or has no more, a line each.
    pub(super) fn moves(&self, counted: &Table) -> Vec<String> {
        let mut moves = Vec::new();
        for new in &counted.rows {
            match self.rows.iter().find(|line| line.name == new.name) {
                Some(old) => moves.extend(old.moves(&new.cost)),
                None => moves.push(format!("{}: no such row in the baseline", new.name)),
            }
        }
        for old in &self.rows {
            if !counted.rows.iter().any(|line| line.name == old.name) {
                moves.push(format!("no longer counted: {}", old.name));
            }
        }
        moves
    }
}

impl Line {
    fn moves(&self, new: &Cost) -> Vec<String> {
        let (old, tolerance) = (&self.cost, &self.tolerance);
        let percent = old.instructions * tolerance.instructions / 100.0;
        let columns = [
            ("instructions", old.instructions, new.instructions, percent),
            (
                "system calls",
                old.system_calls,
                new.system_calls,
                tolerance.system_calls,
            ),
            (
                "allocations",
                old.allocations,
                new.allocations,
                tolerance.allocations,
            ),
        ];
        let moved = columns
            .into_iter()
            .filter(|(_, old, new, most)| (new - old).abs() > most + 1e-6);
        moved
            .map(|(what, old, new, most)| {
                format!(
                    "{}: {what} {old} -> {new}, where {most:.1} is tolerated",
                    self.name
                )
            })
            .collect()
    }
}

fn parse_line(line: &str) -> Result<Line> {
    let mut fields = line.split('\t');
    let name = fields.next().context("no name")?.to_owned();
    let mut number = || -> Result<f64> { Ok(fields.next().context("too few fields")?.trim().parse()?) };
    let (mut cost, mut tolerance) = (Cost::default(), Cost::default());
    (cost.instructions, tolerance.instructions) = (number()?, number()?);
    (cost.system_calls, tolerance.system_calls) = (number()?, number()?);
    (cost.allocations, tolerance.allocations) = (number()?, number()?);
    Ok(Line {
        name,
        cost,
        tolerance,
    })
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HEADING)?;
        for Line {
            name,
            cost,
            tolerance,
        } in &self.rows
        {
            writeln!(
                f,
                "{name}\t{}\t{}\t{}\t{}\t{}\t{}",
                cost.instructions,
                tolerance.instructions,
                cost.system_calls,
                tolerance.system_calls,
                cost.allocations,
                tolerance.allocations
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(instructions: f64, system_calls: f64, allocations: f64) -> Table {
        let mut table = Table::default();
        let cost = Cost {
            instructions,
            system_calls,
            allocations,
        };
        table.rows.push(Line {
            name: "a row".to_owned(),
            cost,
            tolerance: Cost {
                instructions: 3.0,
                system_calls: 0.5,
                allocations: 0.5,
            },
        });
        table
    }

    #[test]
    fn a_table_is_read_as_it_was_written() {
        let table = table(12_345.0, 4.5, 7.0);
        assert_eq!(Table::parse(&table.to_string()).unwrap(), table);
    }

    #[test]
    fn a_move_beyond_its_tolerance_is_told_in_either_direction() {
        let baseline = table(1_000.0, 4.0, 7.0);
        assert_eq!(baseline.moves(&table(1_030.0, 4.5, 6.5)), [""; 0]);
        for (moved, what) in [
            (table(1_031.0, 4.0, 7.0), "instructions 1000 -> 1031"),
            (table(969.0, 4.0, 7.0), "instructions 1000 -> 969"),
            (table(1_000.0, 4.6, 7.0), "system calls 4 -> 4.6"),
            (table(1_000.0, 4.0, 8.0), "allocations 7 -> 8"),
        ] {
            let moves = baseline.moves(&moved);
            assert_eq!(moves.len(), 1);
            assert!(moves[0].contains(what), "{moves:?}");
        }
    }

    #[test]
    fn a_row_without_a_baseline_is_a_move() {
        let moves = Table::default().moves(&table(1.0, 1.0, 1.0));
        assert_eq!(moves, ["a row: no such row in the baseline"]);
    }

    #[test]
    fn a_row_of_the_baseline_that_is_not_counted_is_a_move() {
        let moves = table(1.0, 1.0, 1.0).moves(&Table::default());
        assert_eq!(moves, ["no longer counted: a row"]);
        let asked_for = table(1.0, 1.0, 1.0).only("another");
        assert_eq!(asked_for.moves(&Table::default()), [""; 0]);
    }
}
