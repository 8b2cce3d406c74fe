//! Hostile result files: a reader of them takes bounded memory and reports an error.

mod support;

use std::fs::{self, File};
use std::path::Path;
use std::sync::{Arc, OnceLock};

use arrow_array::{ArrayRef, ListArray, RecordBatch, StringArray, UInt32Array, types::Int32Type};
use l4s_measure::{ResultError, Results, SeriesName, write_results};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding};
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder};
use parquet::file::reader::{FileReader, SerializedFileReader};
use proptest::prelude::*;
use support::{engine, recorder, scenario};

/// The most that may be allocated at a time while a table is read.
const MOST: u64 = 250_000_000;

/// A folder whose table of series has `rows` rows for each of these names.
fn folder(names: ArrayRef, with: WriterPropertiesBuilder) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    write_results::<ResultError>(folder.path(), []).unwrap();
    let scopes: ArrayRef = Arc::new(StringArray::from(vec!["group"; names.len()]));
    let runs: ArrayRef = Arc::new(UInt32Array::from(vec![0; names.len()]));
    let batch = [("run", runs), ("scope", scopes), ("name", names)];
    let batch = RecordBatch::try_from_iter(batch).unwrap();
    // Without the list there are no checksums.
    fs::remove_file(folder.path().join("l4s.json")).unwrap();
    let file = File::create(folder.path().join("series.parquet")).unwrap();
    let with = with.set_compression(Compression::SNAPPY).build();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(with)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    folder
}

/// The rows that were read, or the error; and the most bytes that were allocated at a time.
fn read(folder: &Path) -> (Result<usize, String>, u64) {
    let mut rows = 0;
    let mut read = Ok(());
    let info = allocation_counter::measure(|| {
        let results = Results::open(folder).unwrap();
        read = results.each(|_| true, 0, |_, _: SeriesName| rows += 1);
    });
    (read.map(|()| rows).map_err(|error| error.to_string()), info.bytes_max)
}

fn long(bytes: usize, rows: usize) -> ArrayRef {
    let name = "x".repeat(bytes);
    Arc::new(StringArray::from(vec![name.as_str(); rows]))
}

#[test]
fn a_long_value_in_every_row_takes_the_memory_of_a_few() {
    let repeats = [
        WriterProperties::builder().set_dictionary_page_size_limit(1 << 30),
        WriterProperties::builder()
            .set_dictionary_enabled(false)
            .set_column_encoding("name".into(), Encoding::DELTA_BYTE_ARRAY),
    ];
    for with in repeats {
        // 400 MB of names in a small file.
        let folder = folder(long(1_000_000, 400), with);
        assert!(fs::metadata(folder.path().join("series.parquet")).unwrap().len() < 500_000);
        let (rows, bytes) = read(folder.path());
        assert_eq!(rows, Ok(400));
        assert!(bytes < MOST, "{bytes} B");
    }
}

#[test]
fn a_page_that_is_or_claims_to_be_too_large_is_refused() {
    let with = || WriterProperties::builder().set_dictionary_enabled(false);
    let large = folder(long(70_000_000, 1), with());
    let (said, bytes) = read(large.path());
    let said = said.unwrap_err();
    assert!(said.ends_with("B, expected at most 67108864") && said.contains("a page of"), "{said}");
    assert!(bytes < MOST, "{bytes} B");

    // A page of 2 MB whose header is changed to declare 134 MB. Its size is the second i32 of the header, in
    // zigzag encoding, and has four bytes in both cases.
    let claims = folder(long(2_000_000, 1), with());
    let path = claims.path().join("series.parquet");
    let reader = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
    let at = reader.metadata().row_group(0).column(2).data_page_offset() as usize;
    let mut file = fs::read(&path).unwrap();
    assert_eq!(file[at..at + 3], [0x15, 0, 0x15]);
    file[at + 3..at + 7].copy_from_slice(&[0xfe, 0xff, 0xff, 0x7f]);
    fs::write(&path, file).unwrap();
    let (said, bytes) = read(claims.path());
    assert!(said.unwrap_err().contains("a page of 134217727 B"));
    assert!(bytes < 10_000_000, "{bytes} B");
}

#[test]
fn a_column_of_lists_is_refused() {
    let lists = ListArray::from_iter_primitive::<Int32Type, _, _>([Some(vec![Some(1); 1000])]);
    let folder = folder(Arc::new(lists), WriterProperties::builder());
    let (said, _) = read(folder.path());
    assert!(said.unwrap_err().contains("column `"));
}

#[test]
fn summaries_of_many_small_values_count_as_what_they_become() {
    let folder = tempfile::tempdir().unwrap();
    write_results::<ResultError>(folder.path(), []).unwrap();
    fs::remove_file(folder.path().join("l4s.json")).unwrap();
    let mut summary = recorder(&scenario()).finish(engine()).summary;
    // 3 B in the file, 24 B in memory.
    summary.engine.instead = vec![String::new(); 2_000_000];
    let json = serde_json::to_string(&summary).unwrap();
    let column = |text: &str| -> ArrayRef { Arc::new(StringArray::from(vec![text; 50])) };
    let batch = [("command", column("l4s run x")), ("summary_json", column(&json))];
    let batch = RecordBatch::try_from_iter(batch).unwrap();
    let file = File::create(folder.path().join("runs.parquet")).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let mut said = String::new();
    let info = allocation_counter::measure(|| {
        said = Results::open(folder.path()).unwrap_err().to_string();
    });
    assert!(said.ends_with("summaries that take more than 1024 MB"), "{said}");
    assert!(info.bytes_max < 1_200_000_000, "{} B", info.bytes_max);
}

proptest! {
    /// For any change of a file, reading it ends with rows or with an error.
    #[test]
    fn any_damage_is_survived(
        at in any::<prop::sample::Index>(), bytes in prop::collection::vec(any::<u8>(), 1..12),
    ) {
        static MADE: OnceLock<(tempfile::TempDir, Vec<u8>)> = OnceLock::new();
        let (folder, whole) = MADE.get_or_init(|| {
            let folder = folder(long(20, 100), WriterProperties::builder());
            let whole = fs::read(folder.path().join("series.parquet")).unwrap();
            (folder, whole)
        });
        let mut file = whole.clone();
        let at = at.index(file.len());
        for (place, byte) in file[at..].iter_mut().zip(bytes) {
            *place = byte;
        }
        fs::write(folder.path().join("series.parquet"), file).unwrap();
        let (_, bytes) = read(folder.path());
        prop_assert!(bytes < MOST, "{} B", bytes);
    }
}
