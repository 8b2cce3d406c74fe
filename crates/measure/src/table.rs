//! Tables of rows: a row type is declared once, and with it its columns in Parquet.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, Float64Array, StringArray, UInt32Array, UInt64Array};
use arrow_schema::{DataType, Field};

use crate::Column;
use crate::error::Cause;

/// A row of a table.
pub trait Row: Sized {
    /// The file of the table.
    const FILE: &'static str;
    /// The columns, in order.
    fn fields() -> Vec<Field>;
    /// The meaning of each column.
    fn dictionary() -> Vec<Column>;
    /// The values of `rows`, column by column.
    fn columns(rows: &[Self]) -> Vec<ArrayRef>;
    /// Those rows of a batch, which has these columns, perhaps among others. Values of a column that it
    /// lacks are absent where they may be.
    fn read(batch: &RecordBatch, rows: impl Iterator<Item = usize>) -> Result<Vec<Self>, Cause>;
}

/// A value in a column.
pub(crate) trait Cell: Sized {
    fn field(name: &str) -> Field;
    fn column<'a>(values: impl Iterator<Item = &'a Self>) -> ArrayRef
    where
        Self: 'a;
    /// The value in row `i`; `None` when it is missing or of another type.
    fn read(column: &dyn Array, i: usize) -> Option<Self>;
    /// The value in a table without the column, which an earlier version wrote; `None` where each
    /// has it.
    fn absent() -> Option<Self> {
        None
    }
}

/// Cells that Arrow keeps as numbers, present or absent.
macro_rules! number_cells {
    ($($type:ty, $data_type:ident, $arrow:ty, $array:ty;)+) => {$(
        impl Cell for $type {
            fn field(name: &str) -> Field {
                Field::new(name, DataType::$data_type, false)
            }
            fn column<'a>(values: impl Iterator<Item = &'a Self>) -> ArrayRef {
                Arc::new(<$array>::from_iter_values(values.copied()))
            }
            fn read(column: &dyn Array, i: usize) -> Option<Self> {
                column.as_primitive_opt::<$arrow>().filter(|c| c.is_valid(i)).map(|c| c.value(i))
            }
        }
        impl Cell for Option<$type> {
            fn field(name: &str) -> Field {
                Field::new(name, DataType::$data_type, true)
            }
            fn column<'a>(values: impl Iterator<Item = &'a Self>) -> ArrayRef {
                Arc::new(values.copied().collect::<$array>())
            }
            fn read(column: &dyn Array, i: usize) -> Option<Self> {
                column.as_primitive_opt::<$arrow>().map(|c| c.is_valid(i).then(|| c.value(i)))
            }
            fn absent() -> Option<Self> {
                Some(None)
            }
        }
    )+};
}

number_cells! {
    f64, Float64, Float64Type, Float64Array;
    u64, UInt64, UInt64Type, UInt64Array;
    u32, UInt32, UInt32Type, UInt32Array;
}

impl Cell for String {
    fn field(name: &str) -> Field {
        Field::new(name, DataType::Utf8, false)
    }

    fn column<'a>(values: impl Iterator<Item = &'a Self>) -> ArrayRef {
        Arc::new(StringArray::from_iter_values(values))
    }

    fn read(column: &dyn Array, i: usize) -> Option<Self> {
        column.as_string_opt::<i32>().filter(|c| c.is_valid(i)).map(|c| c.value(i).to_owned())
    }
}

impl Cell for Option<String> {
    fn field(name: &str) -> Field {
        Field::new(name, DataType::Utf8, true)
    }

    fn column<'a>(values: impl Iterator<Item = &'a Self>) -> ArrayRef {
        Arc::new(values.map(Option::as_deref).collect::<StringArray>())
    }

    fn read(column: &dyn Array, i: usize) -> Option<Self> {
        column.as_string_opt::<i32>().map(|c| c.is_valid(i).then(|| c.value(i).to_owned()))
    }

    fn absent() -> Option<Self> {
        Some(None)
    }
}

/// Declares a row type: of each column its meaning, type, unit, and of which time it is. In JSON a
/// row is an array of its values.
macro_rules! rows {
    (
        $(#[$doc:meta])*
        $name:ident in $file:literal {
            $($(#[doc = $meaning:literal])+ $field:ident: $type:ty => $unit:literal $over:ident,)+
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Debug, Default)]
        pub struct $name {
            $($(#[doc = $meaning])+ pub $field: $type,)+
        }

        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                use ::serde::ser::SerializeSeq;
                let mut row = to.serialize_seq(None)?;
                $(row.serialize_element(&self.$field)?;)+
                row.end()
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                struct Row;
                impl<'de> ::serde::de::Visitor<'de> for Row {
                    type Value = $name;

                    fn expecting(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                        write!(f, "an array of the values of {}", stringify!($name))
                    }

                    fn visit_seq<A: ::serde::de::SeqAccess<'de>>(
                        self,
                        mut row: A,
                    ) -> Result<$name, A::Error> {
                        let missing = || ::serde::de::Error::custom("an array that is too short");
                        Ok($name { $($field: row.next_element()?.ok_or_else(missing)?,)+ })
                    }
                }
                from.deserialize_seq(Row)
            }
        }

        impl $crate::table::Row for $name {
            const FILE: &'static str = $file;

            fn fields() -> Vec<::arrow_schema::Field> {
                vec![$(
                    <$type as $crate::table::Cell>::field(stringify!($field)).with_metadata(
                        $crate::dictionary::metadata(
                            $unit,
                            $crate::Over::$over,
                            concat!($($meaning),+),
                        ),
                    ),
                )+]
            }

            fn dictionary() -> Vec<$crate::Column> {
                let fields = <$name as $crate::table::Row>::fields();
                let kinds = fields.iter().map(|field| field.data_type().to_string());
                let columns = [$((
                    stringify!($field), $unit, $crate::Over::$over, concat!($($meaning),+),
                ),)+];
                columns
                    .into_iter()
                    .zip(kinds)
                    .map(|((name, unit, over, meaning), kind)| {
                        $crate::Column::new($file, name, kind, unit, over, meaning)
                    })
                    .collect()
            }

            fn columns(rows: &[Self]) -> Vec<::arrow_array::ArrayRef> {
                vec![$($crate::table::Cell::column(rows.iter().map(|row| &row.$field)),)+]
            }

            fn read(
                batch: &::arrow_array::RecordBatch,
                rows: impl Iterator<Item = usize>,
            ) -> Result<Vec<Self>, $crate::error::Cause> {
                $(let $field = batch.column_by_name(stringify!($field));)+
                let row = |i| Ok($name {
                    $($field: $crate::table::cell($field, stringify!($field), i)?,)+
                });
                rows.map(row).collect()
            }
        }
    };
}
pub(crate) use rows;

/// The column of that name.
pub(crate) fn column<'a>(batch: &'a RecordBatch, name: &str) -> Result<&'a dyn Array, Cause> {
    let column = batch.column_by_name(name).ok_or_else(|| Cause::Column(name.to_owned()))?;
    Ok(column.as_ref())
}

/// The value in row `i` of the column of that name, which a table of an earlier version may lack.
pub(crate) fn cell<C: Cell>(column: Option<&ArrayRef>, name: &str, i: usize) -> Result<C, Cause> {
    column
        .map_or_else(C::absent, |column| C::read(column, i))
        .ok_or_else(|| Cause::Column(name.to_owned()))
}

/// The value in row `i` of the column of that name.
pub(crate) fn value<C: Cell>(column: &dyn Array, name: &str, i: usize) -> Result<C, Cause> {
    C::read(column, i).ok_or_else(|| Cause::Column(name.to_owned()))
}
