//! Printing: tables for people, JSON for programs.

use std::io::{self, Write};

use comfy_table::{ContentArrangement, Table, presets};
use serde_json::Value;

use crate::args::Format;

/// Prints text as it is.
pub(crate) fn text(text: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(())
}

/// Prints a line.
pub(crate) fn line(line: &str) -> anyhow::Result<()> {
    text(&format!("{line}\n"))
}

/// Prints what a command found: a table of `rows` under `columns`, or `json`.
pub(crate) fn found(
    format: Format,
    columns: &[&str],
    rows: Vec<Vec<String>>,
    json: &Value,
) -> anyhow::Result<()> {
    match format {
        Format::Json => line(&json.to_string()),
        Format::Table => text(&table(columns, rows)),
    }
}

/// Prints what a command did: a sentence, or `json`.
pub(crate) fn done(format: Format, sentence: &str, json: &Value) -> anyhow::Result<()> {
    match format {
        Format::Json => line(&json.to_string()),
        Format::Table => line(sentence),
    }
}

/// A table without lines: columns in capitals, cells side by side, nothing at the ends of lines.
pub(crate) fn table(columns: &[&str], rows: Vec<Vec<String>>) -> String {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(columns)
        .add_rows(rows);
    for column in table.column_iter_mut() {
        column.set_padding((0, 3));
    }
    let lines = table.lines().map(|line| line.trim_end().to_owned() + "\n");
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_columns_and_rows_and_nothing_else() {
        let rows = vec![
            vec!["orders".to_owned(), "3".to_owned()],
            vec!["a-topic-with-a-long-name".to_owned(), "12".to_owned()],
        ];
        let expected = "\
TOPIC                      PARTITIONS
orders                     3
a-topic-with-a-long-name   12
";
        assert_eq!(table(&["TOPIC", "PARTITIONS"], rows), expected);
    }
}
