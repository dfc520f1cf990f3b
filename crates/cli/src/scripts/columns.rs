//! Tables as the scripts print them: fixed or growing columns, a blank between.

/// A column and how wide it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    name: &'static str,
    width: usize,
    grows: bool,
}

/// How a line ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Align {
    /// With the last cell.
    Ragged,
    /// With the width of the last column.
    Padded,
    /// The same and a blank.
    Spaced,
}

impl Column {
    /// A column of a fixed width; what is longer pushes the rest of its line.
    pub(super) fn new(name: &'static str, width: usize) -> Column {
        Column {
            name,
            width,
            grows: false,
        }
    }

    /// A column as wide as its longest cell.
    pub(super) fn at_least(name: &'static str, width: usize) -> Column {
        Column {
            name,
            width,
            grows: true,
        }
    }
}

/// The header and the rows, a line each.
pub(super) fn table(columns: &[Column], rows: &[Vec<String>], align: Align) -> String {
    let width = |(place, column): (usize, &Column)| {
        let cells = rows.iter().filter_map(|row| row.get(place)).map(String::len);
        if column.grows {
            cells.fold(column.width, usize::max)
        } else {
            column.width
        }
    };
    let widths: Vec<usize> = columns.iter().enumerate().map(width).collect();
    let line = |cells: &[&str]| {
        let cells = cells
            .iter()
            .zip(&widths)
            .enumerate()
            .map(|(place, (cell, width))| {
                let is_last = place + 1 == widths.len();
                match align {
                    Align::Ragged if is_last => (*cell).to_owned(),
                    Align::Padded if is_last => format!("{cell:width$}"),
                    _ => format!("{cell:width$} "),
                }
            });
        cells.collect::<String>() + "\n"
    };
    let header: Vec<&str> = columns.iter().map(|column| column.name).collect();
    let mut text = line(&header);
    for row in rows {
        let cells: Vec<&str> = row.iter().map(String::as_str).collect();
        text += &line(&cells);
    }
    text
}
