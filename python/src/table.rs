//! Tables for readers of Arrow, without a copy.

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchIterator};
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::ffi::FFI_ArrowSchema;
use l4s_measure::Cause;
use pyo3::exceptions::{PyAttributeError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule};

/// The function that makes an object from its pickle, and its arguments.
pub type Made<'py, Arguments> = (Bound<'py, PyAny>, Arguments);

/// A table in memory that Arrow's consumers read in place (the PyCapsule interface).
#[pyclass(frozen, module = "l4s._l4s")]
#[derive(Clone)]
pub struct Table {
    batch: RecordBatch,
}

impl Table {
    /// A table of a batch of the crate `measure`.
    pub fn new(batch: Result<RecordBatch, Cause>) -> PyResult<Table> {
        batch.map(|batch| Table { batch }).map_err(failed)
    }
}

#[pymethods]
impl Table {
    /// The whole as an Arrow stream of one batch.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // A consumer may ask for other types; it must take these as they are (best effort).
        let _ = requested_schema;
        let schema = self.batch.schema();
        let batches = RecordBatchIterator::new([Ok(self.batch.clone())], schema);
        let stream = FFI_ArrowArrayStream::new(Box::new(batches));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    /// The names and types of its columns.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.batch.schema().as_ref()).map_err(failed)?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// The methods of a table of pyarrow: columns by name, `to_pandas`, `filter` and so on.
    fn __getattr__<'py>(slf: Bound<'py, Self>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        // Of protocols it has those that are defined here: who asks for others would get a copy.
        if name.starts_with("__") {
            return Err(PyAttributeError::new_err(format!("l4s.Table has no attribute {name}")));
        }
        arrow(slf)?.getattr(name)
    }

    fn __getitem__<'py>(
        slf: Bound<'py, Self>,
        key: Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        arrow(slf)?.get_item(key)
    }

    /// A pickle holds it as a stream of Arrow's.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Made<'py, (Bound<'py, PyBytes>,)>> {
        let read = py.get_type::<Table>().getattr("_of_bytes")?;
        let schema = self.batch.schema();
        let mut writer = StreamWriter::try_new(Vec::new(), &schema).map_err(failed)?;
        writer.write(&self.batch).map_err(failed)?;
        let bytes = writer.into_inner().map_err(failed)?;
        Ok((read, (PyBytes::new(py, &bytes),)))
    }

    /// The table that a pickle holds.
    #[staticmethod]
    fn _of_bytes(bytes: &[u8]) -> PyResult<Table> {
        let mut batches = StreamReader::try_new(bytes, None).map_err(failed)?;
        match batches.next() {
            Some(batch) => batch.map(|batch| Table { batch }).map_err(failed),
            None => Err(failed("a pickle of no table")),
        }
    }

    /// Rows.
    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    /// The names of its columns, in order.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        let schema = self.batch.schema();
        schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    fn __repr__(&self) -> String {
        format!("<l4s.Table of {} rows: {}>", self.__len__(), self.column_names().join(", "))
    }
}

/// As a table of pyarrow, without a copy, and without `pyarrow.table`, which reads pandas first.
fn arrow(table: Bound<'_, Table>) -> PyResult<Bound<'_, PyAny>> {
    let reader = table.py().import("pyarrow")?.getattr("RecordBatchReader")?;
    reader.call_method1("from_stream", (table,))?.call_method0("read_all")
}

fn failed(error: impl std::fmt::Display) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}
