//! Rows in columns, for people.

use std::ops::Range;
use std::os::fd::AsFd;

use l4s_units::printable;
use rustix::termios::tcgetwinsize;

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

/// The rows in columns, and below each other where they are wider than `width`: blocks of whole sections,
/// each of which begins with the columns before the first section. A section that is wider has a block alone.
pub fn in_blocks(
    rows: &[Vec<String>],
    aligns: &[Align],
    sections: &[Range<usize>],
    width: Option<usize>,
) -> String {
    let Some(width) = width else { return aligned(rows, aligns) };
    let first = sections.first().map_or(0, |section| section.start);
    let block = |sections: &[Range<usize>]| {
        let columns = || (0..first).chain(sections.iter().cloned().flatten());
        let rows: Vec<Vec<String>> =
            rows.iter().map(|row| columns().map(|column| row[column].clone()).collect()).collect();
        aligned(&rows, &columns().map(|column| aligns[column]).collect::<Vec<_>>())
    };
    let fits = |block: &str| block.lines().all(|line| line.chars().count() <= width);
    let mut blocks = Vec::new();
    let mut rest = sections;
    while !rest.is_empty() {
        let count = (2..=rest.len()).take_while(|count| fits(&block(&rest[..*count]))).last();
        let (these, others) = rest.split_at(count.unwrap_or(1));
        blocks.push(block(these));
        rest = others;
    }
    blocks.join("\n")
}

/// The columns of a terminal; `None` where the output is none.
pub fn terminal_width(output: impl AsFd) -> Option<usize> {
    let columns = tcgetwinsize(output).ok()?.ws_col;
    (columns > 0).then_some(columns.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_wider_than_the_terminal_is_in_blocks_of_whole_sections() {
        let rows: Vec<Vec<String>> = ["case util% A p99 B p99", "pie 100 1 22 333 4"]
            .map(|row| row.split(' ').map(str::to_owned).collect())
            .into();
        let aligns = [[Align::Left; 1].as_slice(), &[Align::Right; 5]].concat();
        let at = |width| in_blocks(&rows, &aligns, &[1..2, 2..4, 4..6], width);
        let whole = "case  util%  A  p99    B  p99\npie     100  1   22  333    4\n";
        assert_eq!(at(None), whole);
        // 4 + 2 + 5 + 2 + 1 + 2 + 3 + 2 + 3 + 2 + 3 columns.
        assert_eq!(at(Some(29)), whole);
        let two = "case  util%  A  p99\npie     100  1   22\n\ncase    B  p99\npie   333    4\n";
        assert_eq!(at(Some(28)), two);
        assert_eq!(at(Some(1)).matches("case").count(), 3);
    }
}
