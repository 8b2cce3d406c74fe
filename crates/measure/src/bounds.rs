//! Bounds of a Parquet file, checked before anything of it is decoded.
//!
//! A decoder allocates the sizes that a file claims: of lists in the footer, of pages, of dictionaries.
//! So the footer and the headers of pages are read here first. Both are structures in the compact
//! protocol of Thrift
//! (<https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md>,
//! <https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift>).

use std::fs::File;
use std::os::unix::fs::FileExt;

use parquet::arrow::ProjectionMask;
use parquet::basic::Type;
use parquet::file::metadata::ParquetMetaData;

use crate::error::Cause;

/// The largest footer, in bytes. That of 100 million rows of a time series has 2 MB.
const FOOTER: u64 = 16 << 20;
/// The largest header of a page, in bytes.
const HEADER: u64 = 64 << 10;
/// The largest page, in bytes after decompression. Pages of l4s have about 1 MB, but a page with a
/// single row may be larger.
const PAGE: u64 = 64 << 20;
/// The most rows of a table.
const ROWS: i64 = 1_000_000_000;
/// Bytes of text in a batch of rows.
const BATCH: u64 = 64 << 20;
/// Nested structures and lists of a footer or a header.
const DEPTH: u8 = 16;

/// The types of the compact protocol.
mod kind {
    pub const STOP: u8 = 0;
    pub const TRUE: u8 = 1;
    pub const FALSE: u8 = 2;
    pub const BYTE: u8 = 3;
    pub const I16: u8 = 4;
    pub const I32: u8 = 5;
    pub const I64: u8 = 6;
    pub const DOUBLE: u8 = 7;
    pub const BINARY: u8 = 8;
    pub const LIST: u8 = 9;
    pub const STRUCT: u8 = 12;
}

/// Checks the footer: no list and no string in it is longer than the rest of it.
pub(crate) fn check_footer(file: &File) -> Result<(), Cause> {
    let size = file.metadata()?.len();
    let mut tail = [0; 8];
    let Some(end) = size.checked_sub(8) else { return Err(damaged("it is too short")) };
    file.read_exact_at(&mut tail, end)?;
    let [a, b, c, d, magic @ ..] = tail;
    let length = u64::from(u32::from_le_bytes([a, b, c, d]));
    if &magic != b"PAR1" || length > end {
        return Err(damaged("it is not Parquet, or its end is missing"));
    }
    if length > FOOTER {
        return Err(too_much(format!("a footer of {length} B, expected at most {FOOTER}")));
    }
    let mut footer = vec![0; length as usize];
    file.read_exact_at(&mut footer, end - length)?;
    Compact(&footer).skip(kind::STRUCT, DEPTH).ok_or_else(|| damaged("its footer"))
}

/// Checks the projected columns of all row groups with their pages; how many rows a batch of at most
/// `rows` may have, such that its text is bounded too.
///
/// A value is no longer than the page or dictionary that it is in, but a dictionary or a common prefix
/// may repeat it in every row.
pub(crate) fn check_pages(
    file: &File,
    meta: &ParquetMetaData,
    mask: &ProjectionMask,
    rows: usize,
) -> Result<usize, Cause> {
    let found = meta.file_metadata().num_rows();
    if !(0..=ROWS).contains(&found) {
        return Err(too_much(format!("{found} rows, expected at most {ROWS}")));
    }
    let mut longest = 1;
    for group in meta.row_groups() {
        let columns = group.columns().iter().enumerate();
        for (_, column) in columns.filter(|(leaf, _)| mask.leaf_included(*leaf)) {
            let described = column.column_descr();
            let is_fixed = matches!(column.column_type(), Type::FIXED_LEN_BYTE_ARRAY | Type::INT96);
            if described.max_rep_level() > 0 || is_fixed {
                return Err(Cause::Column(described.name().to_owned()));
            }
            // As `byte_range`, which panics where one is negative.
            let data = column.data_page_offset();
            let start = column.dictionary_page_offset().unwrap_or(data);
            let range = u64::try_from(start).ok().zip(u64::try_from(column.compressed_size()).ok());
            let (start, length) = range.ok_or_else(|| damaged("the place of a column"))?;
            let page = largest_page(file, start, length)?;
            if column.column_type() == Type::BYTE_ARRAY {
                longest = longest.max(page);
            }
        }
    }
    Ok(rows.min((BATCH / longest).max(1) as usize))
}

/// The bytes of the largest page of a column.
fn largest_page(file: &File, mut at: u64, mut left: u64) -> Result<u64, Cause> {
    let mut largest = 0;
    let mut bytes = Vec::new();
    while left > 0 {
        bytes.resize(left.min(HEADER) as usize, 0);
        let read = read_at(file, &mut bytes, at)?;
        let mut header = Compact(&bytes[..read]);
        let page = header.page().ok_or_else(|| damaged("the header of a page"))?;
        let whole = (read - header.0.len()) as u64 + page.stored;
        left = left.checked_sub(whole).ok_or_else(|| damaged("a page beyond its column"))?;
        at += whole;
        let bytes = page.stored.max(page.decoded);
        if bytes > PAGE || page.values > PAGE {
            let found = bytes.max(page.values);
            return Err(too_much(format!("a page of {found} B, expected at most {PAGE}")));
        }
        largest = largest.max(bytes);
    }
    Ok(largest)
}

/// Reads until `bytes` are full or the file ends; how many were read.
fn read_at(file: &File, bytes: &mut [u8], at: u64) -> std::io::Result<usize> {
    let mut read = 0;
    while read < bytes.len() {
        match file.read_at(&mut bytes[read..], at + read as u64)? {
            0 => break,
            more => read += more,
        }
    }
    Ok(read)
}

/// The sizes that the header of a page claims, in bytes; of a dictionary also its values.
#[derive(Default)]
struct Page {
    decoded: u64,
    stored: u64,
    values: u64,
}

/// The rest of a structure in the compact protocol. `None` of any operation: it is malformed.
struct Compact<'a>(&'a [u8]);

impl Compact<'_> {
    /// `PageHeader`: 2 is `uncompressed_page_size`, 3 is `compressed_page_size`, and 7 is
    /// `dictionary_page_header`, of which 1 is `num_values`.
    fn page(&mut self) -> Option<Page> {
        let (mut page, mut last) = (Page::default(), 0);
        loop {
            match self.field(&mut last)? {
                (_, kind::STOP) => return Some(page),
                (2, kind::I32) => page.decoded = page.decoded.max(self.natural()?),
                (3, kind::I32) => page.stored = self.natural()?,
                (7, kind::STRUCT) => {
                    let mut last = 0;
                    loop {
                        match self.field(&mut last)? {
                            (_, kind::STOP) => break,
                            (1, kind::I32) => page.values = page.values.max(self.natural()?),
                            (_, kind) => self.skip(kind, DEPTH)?,
                        }
                    }
                }
                (2 | 3 | 7, _) => return None,
                (_, kind) => self.skip(kind, DEPTH)?,
            }
        }
    }

    /// The number and the type of the next field.
    fn field(&mut self, last: &mut i64) -> Option<(i64, u8)> {
        let byte = self.byte()?;
        if byte & 0x0f == kind::STOP {
            return Some((0, kind::STOP));
        }
        *last = match byte >> 4 {
            0 => self.integer()?,
            delta => *last + i64::from(delta),
        };
        Some((*last, byte & 0x0f))
    }

    fn skip(&mut self, kind: u8, depth: u8) -> Option<()> {
        match kind {
            kind::TRUE | kind::FALSE => {}
            kind::BYTE => drop(self.byte()?),
            kind::I16 | kind::I32 | kind::I64 => drop(self.varint()?),
            kind::DOUBLE => self.advance(8)?,
            kind::BINARY => {
                let length = self.varint()?;
                self.advance(length)?;
            }
            kind::LIST => {
                let head = self.byte()?;
                let size = match head >> 4 {
                    15 => self.varint()?,
                    size => u64::from(size),
                };
                // Each entry has a byte at least.
                if size > self.0.len() as u64 {
                    return None;
                }
                for _ in 0..size {
                    match head & 0x0f {
                        kind::TRUE | kind::FALSE => drop(self.byte()?),
                        kind => self.skip(kind, depth.checked_sub(1)?)?,
                    }
                }
            }
            kind::STRUCT => {
                let (depth, mut last) = (depth.checked_sub(1)?, 0);
                loop {
                    match self.field(&mut last)? {
                        (_, kind::STOP) => break,
                        (_, kind) => self.skip(kind, depth)?,
                    }
                }
            }
            // Parquet has no sets and no maps.
            _ => return None,
        }
        Some(())
    }

    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn advance(&mut self, bytes: u64) -> Option<()> {
        self.0 = self.0.get(usize::try_from(bytes).ok()?..)?;
        Some(())
    }

    /// An unsigned LEB128 number.
    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    /// A signed number in zigzag.
    fn integer(&mut self) -> Option<i64> {
        let value = self.varint()?;
        Some((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// A number that is not negative.
    fn natural(&mut self) -> Option<u64> {
        self.integer()?.try_into().ok()
    }
}

fn damaged(what: &str) -> Cause {
    Cause::Damaged(what.to_owned())
}

fn too_much(what: String) -> Cause {
    Cause::TooMuch(what)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skipped(bytes: &[u8]) -> Option<usize> {
        let mut rest = Compact(bytes);
        rest.skip(kind::STRUCT, DEPTH).map(|()| rest.0.len())
    }

    #[test]
    fn structures_of_the_compact_protocol_are_skipped() {
        // 1: i32 −3, 2: "ab", 3: list of two i32, 4: a struct with a double, 20: true; then one byte.
        let mut all = vec![0x15, 5, 0x18, 2, b'a', b'b', 0x19, 0x25, 2, 4, 0x1c, 0x17];
        all.extend([0; 8]);
        all.extend([0, 0x01, 40, 0, 99]);
        assert_eq!(skipped(&all), Some(1));
        for cut in 0..all.len() - 1 {
            assert_eq!(skipped(&all[..cut]), None, "{cut}");
        }
    }

    #[test]
    fn lists_and_strings_are_no_longer_than_what_holds_them_and_not_too_deep() {
        // A list of 2^31 − 1 structs, a list of as many truths, and a string of 2^35 B.
        assert_eq!(skipped(&[0x19, 0xfc, 0xff, 0xff, 0xff, 0xff, 7, 0, 0]), None);
        assert_eq!(skipped(&[0x19, 0xf1, 0xff, 0xff, 0xff, 0xff, 7, 1, 1]), None);
        assert_eq!(skipped(&[0x18, 0xff, 0xff, 0xff, 0xff, 0x7f, 0]), None);
        assert_eq!(skipped(&[0x1c].repeat(1 << 20)), None);
        assert_eq!(skipped(&[0x19].repeat(1 << 20)), None);
        // A number without an end.
        assert_eq!(skipped(&[0x15].iter().chain(&[0xff; 20]).copied().collect::<Vec<_>>()), None);
    }

    #[test]
    fn sizes_of_a_page_are_those_of_its_header() {
        // Type 2 (dictionary), 1000 B, 10 B stored; of the dictionary 7 values in encoding 0.
        let header = [0x15, 4, 0x15, 0xd0, 0x0f, 0x15, 20, 0x4c, 0x15, 14, 0x15, 0, 0, 0, 99];
        let mut rest = Compact(&header);
        let Page { decoded, stored, values } = rest.page().unwrap();
        assert_eq!((decoded, stored, values, rest.0), (1000, 10, 7, &[99][..]));
        // A size below zero, or of another type.
        assert!(Compact(&[0x15, 4, 0x15, 1, 0x15, 20, 0]).page().is_none());
        assert!(Compact(&[0x15, 4, 0x16, 2, 0x15, 20, 0]).page().is_none());
    }
}
