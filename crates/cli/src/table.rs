//! Rows in columns, for people.

use l4s_units::printable;

/// A cell's place in its column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// The rows in columns; columns beyond `aligns` are words. The last one is not padded. Control
/// characters are escaped, line breaks too.
pub fn aligned(rows: &[Vec<String>], aligns: &[Align]) -> String {
    let shown = |row: &Vec<String>| row.iter().map(|cell| printable(cell).into_owned()).collect();
    let rows: Vec<Vec<String>> = rows.iter().map(shown).collect();
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max()
    };
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    let cell = |column: usize, text: &String| match aligns.get(column) {
        Some(Align::Right) => format!("{text:>0$}", widths[column]),
        _ => format!("{text:0$}", widths[column]),
    };
    let line = |row: &Vec<String>| {
        let cells: Vec<_> = row.iter().enumerate().map(|(i, text)| cell(i, text)).collect();
        cells.join("  ").trim_end().to_owned() + "\n"
    };
    rows.iter().map(line).collect()
}
