//! Tables. In: what a run told of packets, handlers or frames. Out: columns, by the Arrow PyCapsule
//! interface, which polars, pandas, pyarrow and duckdb take without a copy.

use std::ffi::CStr;
use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, RecordBatchIterator,
    StringArray, UInt32Array, UInt64Array,
};
use pinion_figures::sweep::{self, Data};
use pinion_sim::Time;
use pinion_spin::{HandlerRecord, PacketRecord, Stalls};
use pyo3::exceptions::{PyKeyError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList};

use crate::watch::NodeFrame;

/// The name that the interface gives a stream's capsule.
const STREAM: &CStr = c"arrow_array_stream";

/// A column as it is made: its name, its values, whether some may be missing.
type Column<'n> = (&'n str, ArrayRef, bool);

/// A table, by column.
#[pyclass(frozen, module = "pinion")]
pub struct Table(RecordBatch);

#[pymethods]
impl Table {
    /// The names of its columns.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.0.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    /// How many rows it has.
    #[getter]
    fn num_rows(&self) -> usize {
        self.0.num_rows()
    }

    fn __len__(&self) -> usize {
        self.0.num_rows()
    }

    /// Gives a column as a list; `None` where there is no value.
    fn __getitem__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyList>> {
        match self.0.column_by_name(name) {
            Some(column) => values(py, column.as_ref()),
            None => Err(PyKeyError::new_err(name.to_owned())),
        }
    }

    /// Gives a dictionary from each column's name to its list.
    fn to_pydict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (field, column) in self.0.schema().fields().iter().zip(self.0.columns()) {
            dict.set_item(field.name(), values(py, column.as_ref())?)?;
        }
        Ok(dict)
    }

    /// Gives the table to a library that takes Arrow's streams; the columns are shared, not copied.
    #[pyo3(signature = (requested_schema=None))]
    pub fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface lets a producer that cannot cast give what it has.
        let _ = requested_schema;
        let batches = RecordBatchIterator::new([Ok(self.0.clone())], self.0.schema());
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(batches)), STREAM)
    }

    fn __repr__(&self) -> String {
        format!("<pinion.Table {} rows: {}>", self.0.num_rows(), self.column_names().join(", "))
    }
}

impl Table {
    /// Counts its rows.
    pub fn rows(&self) -> usize {
        self.0.num_rows()
    }

    fn new<'n>(columns: impl IntoIterator<Item = Column<'n>>) -> PyResult<Self> {
        let made = RecordBatch::try_from_iter_with_nullable(columns);
        made.map(Self).map_err(|error| PyRuntimeError::new_err(error.to_string()))
    }

    /// Makes the table of packets: the columns of `pinion run --packets`.
    pub fn of_packets(rows: &[PacketRecord], contexts: &[String]) -> PyResult<Self> {
        let name = |row: &PacketRecord| contexts.get(row.context.0 as usize).map(String::as_str);
        let mut columns = vec![
            u64s("packet", rows, |row| row.packet),
            texts("context", rows, |row| name(row).unwrap_or_default()),
            u32s("message", rows, |row| row.message),
            u32s("bytes", rows, |row| row.bytes),
            bools("end_of_message", rows, |row| row.end_of_message),
            times("arrival_ns", rows, |row| row.arrival),
            times("inbound_ns", rows, |row| row.inbound),
            times("her_ns", rows, |row| row.her),
            some_times("handler_start_ns", rows, |row| row.handler_start),
            some_times("handler_end_ns", rows, |row| row.handler_end),
            times("completion_ns", rows, |row| row.completion),
            some_times("departure_ns", rows, |row| row.departure),
            some_u32s("cluster", rows, |row| row.hpu.map(|(cluster, _)| cluster)),
            some_u32s("hpu", rows, |row| row.hpu.map(|(_, hpu)| hpu)),
            u64s("instructions", rows, |row| row.instructions),
        ];
        columns.extend(stalls(rows, |row| &row.stalls));
        columns.push(bools("failed", rows, |row| row.failed));
        Self::new(columns)
    }

    /// Makes the table of runs of handlers.
    pub fn of_handlers(rows: &[HandlerRecord], contexts: &[String]) -> PyResult<Self> {
        let name = |row: &HandlerRecord| contexts.get(row.context.0 as usize).map(String::as_str);
        let mut columns = vec![
            u64s("packet", rows, |row| row.packet),
            texts("context", rows, |row| name(row).unwrap_or_default()),
            texts("kind", rows, |row| pinion_observe::words::kind_name(row.kind)),
            u32s("cluster", rows, |row| row.cluster),
            u32s("hpu", rows, |row| row.hpu),
            times("start_ns", rows, |row| row.start),
            times("end_ns", rows, |row| row.end),
            u64s("instructions", rows, |row| row.instructions),
        ];
        columns.extend(stalls(rows, |row| &row.stalls));
        columns.push(bools("failed", rows, |row| row.failed));
        Self::new(columns)
    }

    /// Makes the table of a sweep.
    pub fn of_columns(columns: &[sweep::Column]) -> PyResult<Self> {
        let array = |data: &Data| -> ArrayRef {
            match data {
                Data::Integers(cells) => Arc::new(Int64Array::from(cells.clone())),
                Data::Numbers(cells) => Arc::new(Float64Array::from(cells.clone())),
                Data::Texts(cells) => Arc::new(StringArray::from(cells.clone())),
            }
        };
        Self::new(columns.iter().map(|column| (column.name.as_str(), array(&column.data), true)))
    }

    /// Makes the table of rows as a JSON document has them: objects with the same names.
    pub fn of_json(names: &[String], rows: &[serde_json::Value]) -> PyResult<Self> {
        let column = |name: &String| -> ArrayRef {
            let cells = || rows.iter().map(|row| row.get(name));
            if cells().flatten().any(serde_json::Value::is_string) {
                let text = |cell: Option<&serde_json::Value>| Some(cell?.as_str()?.to_owned());
                return Arc::new(cells().map(text).collect::<StringArray>());
            }
            if cells().flatten().any(serde_json::Value::is_boolean) {
                return Arc::new(cells().map(|cell| cell?.as_bool()).collect::<BooleanArray>());
            }
            Arc::new(cells().map(|cell| cell?.as_f64()).collect::<Float64Array>())
        };
        Self::new(names.iter().map(|name| (name.as_str(), column(name), true)))
    }

    /// Makes the table of frames at a nanoPU's pins.
    pub fn of_frames(rows: &[NodeFrame]) -> PyResult<Self> {
        Self::new(vec![
            texts("direction", rows, |row| if row.is_in { "in" } else { "out" }),
            u64s("first_flit_cycle", rows, |row| row.first_flit),
            u64s("last_flit_cycle", rows, |row| row.last_flit),
            times("first_flit_ns", rows, |row| row.time),
            u32s("bytes", rows, |row| row.bytes),
        ])
    }
}

fn u64s<R>(name: &'static str, rows: &[R], value: impl Fn(&R) -> u64) -> Column<'static> {
    (name, Arc::new(UInt64Array::from_iter_values(rows.iter().map(value))), false)
}

fn u32s<R>(name: &'static str, rows: &[R], value: impl Fn(&R) -> u32) -> Column<'static> {
    (name, Arc::new(UInt32Array::from_iter_values(rows.iter().map(value))), false)
}

fn some_u32s<R>(
    name: &'static str,
    rows: &[R],
    value: impl Fn(&R) -> Option<u32>,
) -> Column<'static> {
    (name, Arc::new(rows.iter().map(value).collect::<UInt32Array>()), true)
}

fn bools<R>(name: &'static str, rows: &[R], value: impl Fn(&R) -> bool) -> Column<'static> {
    (name, Arc::new(rows.iter().map(|row| Some(value(row))).collect::<BooleanArray>()), false)
}

fn texts<'r, R>(
    name: &'static str,
    rows: &'r [R],
    value: impl Fn(&'r R) -> &'r str,
) -> Column<'static> {
    (name, Arc::new(StringArray::from_iter_values(rows.iter().map(value))), false)
}

fn times<R>(name: &'static str, rows: &[R], value: impl Fn(&R) -> Time) -> Column<'static> {
    let values = rows.iter().map(|row| value(row).ns());
    (name, Arc::new(Float64Array::from_iter_values(values)), false)
}

fn some_times<R>(
    name: &'static str,
    rows: &[R],
    value: impl Fn(&R) -> Option<Time>,
) -> Column<'static> {
    let values = rows.iter().map(|row| value(row).map(Time::ns));
    (name, Arc::new(values.collect::<Float64Array>()), true)
}

/// Makes the columns of cycles lost, by reason and in all.
fn stalls<R>(rows: &[R], of: impl Fn(&R) -> &Stalls) -> Vec<Column<'static>> {
    vec![
        u64s("stall_load_use", rows, |row| of(row).load_use),
        u64s("stall_branch", rows, |row| of(row).branch),
        u64s("stall_arithmetic", rows, |row| of(row).arithmetic),
        u64s("stall_fetch", rows, |row| of(row).fetch),
        u64s("stall_l1", rows, |row| of(row).l1),
        u64s("stall_remote", rows, |row| of(row).remote),
        u64s("stall_command", rows, |row| of(row).command),
        u64s("stall_total", rows, |row| of(row).total()),
    ]
}

/// Gives a column's values.
fn values<'py>(py: Python<'py>, column: &dyn Array) -> PyResult<Bound<'py, PyList>> {
    let any = column.as_any();
    if let Some(column) = any.downcast_ref::<UInt64Array>() {
        PyList::new(py, column.iter().collect::<Vec<_>>())
    } else if let Some(column) = any.downcast_ref::<UInt32Array>() {
        PyList::new(py, column.iter().collect::<Vec<_>>())
    } else if let Some(column) = any.downcast_ref::<Int64Array>() {
        PyList::new(py, column.iter().collect::<Vec<_>>())
    } else if let Some(column) = any.downcast_ref::<Float64Array>() {
        PyList::new(py, column.iter().collect::<Vec<_>>())
    } else if let Some(column) = any.downcast_ref::<BooleanArray>() {
        PyList::new(py, column.iter().collect::<Vec<_>>())
    } else if let Some(column) = any.downcast_ref::<StringArray>() {
        PyList::new(py, column.iter().collect::<Vec<_>>())
    } else {
        Err(PyRuntimeError::new_err(format!("a column of {}", column.data_type())))
    }
}
