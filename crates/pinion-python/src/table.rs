//! Tables. In: what a run told of packets, handlers or frames. Out: columns, by the Arrow PyCapsule
//! interface, which polars, pandas, pyarrow and duckdb take without a copy.

use std::collections::BTreeMap;
use std::ffi::CStr;
use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, RecordBatchIterator,
    StringArray, UInt32Array, UInt64Array,
};
use pinion_figures::sweep::{self, Data};
use pinion_observe::plot::{Panel, panels};
use pinion_python_guard::guarded;
use pinion_sim::Time;
use pinion_spin::{HandlerRecord, PacketRecord, Stalls};
use pyo3::exceptions::{PyKeyError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList};

use crate::again::{Origin, made_by};
use crate::flows::Flow;
use crate::html;
use crate::messages::{Message, NodeFrame};

/// The name that the interface gives a stream's capsule.
pub const STREAM: &CStr = c"arrow_array_stream";

/// Points of a curve that notebooks show.
const SHOWN_POINTS: usize = 512;
/// Rows that notebooks show.
const SHOWN_ROWS: usize = 10;

/// A change: when, of which gauge, to what; `None`: it holds nothing that has a number.
pub type Change = (Time, u32, Option<u64>);

/// A column as it is made: its name, its values, whether some may be missing.
type Column<'n> = (&'n str, ArrayRef, bool);

/// A table, by column.
#[pyclass(frozen, module = "pinion")]
pub struct Table {
    batch: RecordBatch,
    origin: Origin,
}

made_by!(Table, |it| it.origin);

#[guarded]
#[pymethods]
impl Table {
    /// The names of its columns.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.names()
    }

    /// How many rows it has.
    #[getter]
    fn num_rows(&self) -> usize {
        self.batch.num_rows()
    }

    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    /// Gives a column as a list; `None` where there is no value.
    fn __getitem__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyList>> {
        match self.batch.column_by_name(name) {
            Some(column) => values(py, column.as_ref()),
            None => Err(PyKeyError::new_err(name.to_owned())),
        }
    }

    /// Gives a dictionary from each column's name to its list.
    fn to_pydict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (field, column) in self.batch.schema().fields().iter().zip(self.batch.columns()) {
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
        let batches = RecordBatchIterator::new([Ok(self.batch.clone())], self.batch.schema());
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(batches)), STREAM)
    }

    fn _repr_html_(&self) -> String {
        let names: Vec<String> = self.names();
        let shown = self.batch.num_rows().min(SHOWN_ROWS);
        let columns = Self::of(self.batch.slice(0, shown)).to_columns();
        let mut rows = vec![names];
        rows.extend((0..shown).map(|row| columns.iter().map(|one| one.data.text(row)).collect()));
        let heading = match self.batch.num_rows() {
            all if all > shown => format!("{all} rows, the first {shown}"),
            all => format!("{all} rows"),
        };
        html::table(&heading, &rows)
    }

    fn __repr__(&self) -> String {
        format!("<pinion.Table {} rows: {}>", self.batch.num_rows(), self.names().join(", "))
    }
}

impl Table {
    fn of(batch: RecordBatch) -> Self {
        Self { batch, origin: Origin::default() }
    }

    /// Says what makes it.
    #[must_use]
    pub fn made_by(self, origin: Origin) -> Self {
        Self { origin, ..self }
    }

    fn names(&self) -> Vec<String> {
        self.batch.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    /// Counts its rows.
    pub fn rows(&self) -> usize {
        self.batch.num_rows()
    }

    fn new<'n>(columns: impl IntoIterator<Item = Column<'n>>) -> PyResult<Self> {
        let made = RecordBatch::try_from_iter_with_nullable(columns);
        made.map(Self::of).map_err(|error| PyRuntimeError::new_err(error.to_string()))
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

    /// Makes the table of messages to packet handlers.
    pub fn of_flows(rows: &[Flow], contexts: &[String]) -> PyResult<Self> {
        let name = |row: &Flow| contexts.get(row.context as usize).map(String::as_str);
        Self::new(vec![
            texts("context", rows, |row| name(row).unwrap_or_default()),
            u32s("message", rows, |row| row.message),
            u64s("packets", rows, |row| row.packets),
            u64s("bytes", rows, |row| row.bytes),
            times("first_arrival_ns", rows, |row| row.first_arrival),
            some_times("handler_start_ns", rows, |row| row.first_handler),
            times("completion_ns", rows, |row| row.last_completion),
            times("latency_ns", rows, |row| row.last_completion.since(row.first_arrival)),
            u64s("instructions", rows, |row| row.instructions),
            bools("failed", rows, |row| row.failed),
        ])
    }

    /// Makes the table of nanoPUs' messages.
    pub fn of_messages(rows: &[Message]) -> PyResult<Self> {
        let took = |row: &Message| {
            let from = if row.is_in { row.first } else { row.begun };
            Some(row.ended?.since(from?))
        };
        Self::new(vec![
            texts("node", rows, |row| &row.node),
            texts("direction", rows, |row| if row.is_in { "in" } else { "out" }),
            u64s("message", rows, |row| row.number),
            some_u32s("context", rows, |row| row.context.map(u32::from)),
            some_u32s("hart", rows, |row| row.hart.map(u32::from)),
            u32s("packets", rows, |row| row.packets),
            some_times("first_packet_ns", rows, |row| row.first),
            some_times("complete_ns", rows, |row| row.complete),
            some_times("queued_ns", rows, |row| row.queued),
            some_times("given_ns", rows, |row| row.given),
            some_times("begun_ns", rows, |row| row.begun),
            some_times("ended_ns", rows, |row| row.ended),
            some_times("latency_ns", rows, took),
        ])
    }

    /// Makes the table of what units held over time.
    pub fn of_changes(rows: &[Change], names: &[(String, String)]) -> PyResult<Self> {
        let name = |row: &Change| names.get(row.1 as usize);
        Self::new(vec![
            times("time_ns", rows, |row| row.0),
            texts("unit", rows, |row| name(row).map_or("", |(unit, _)| unit)),
            texts("queue", rows, |row| name(row).map_or("", |(_, name)| name)),
            ("value", Arc::new(rows.iter().map(|row| row.2).collect::<UInt64Array>()), true),
        ])
    }

    /// Makes the table of HPUs: what each did in all its runs of handlers.
    pub fn of_hpus(runs: &[HandlerRecord]) -> PyResult<Self> {
        let mut hpus = BTreeMap::<(u32, u32), Hpu>::new();
        for run in runs {
            let hpu = hpus.entry((run.cluster, run.hpu)).or_default();
            hpu.runs += 1;
            hpu.busy_ps += run.end.since(run.start).ps();
            hpu.instructions += run.instructions;
            hpu.stall_cycles += run.stalls.total();
            hpu.failed += u64::from(run.failed);
        }
        let rows: Vec<((u32, u32), Hpu)> = hpus.into_iter().collect();
        Self::new(vec![
            u32s("cluster", &rows, |row| row.0.0),
            u32s("hpu", &rows, |row| row.0.1),
            u64s("runs", &rows, |row| row.1.runs),
            times("busy_ns", &rows, |row| Time::from_ps(row.1.busy_ps)),
            u64s("instructions", &rows, |row| row.1.instructions),
            u64s("stall_cycles", &rows, |row| row.1.stall_cycles),
            u64s("failed", &rows, |row| row.1.failed),
        ])
    }

    /// Draws packets' latencies over their arrivals, in SVG; `None`: it is no table of packets, or empty.
    pub fn latencies(&self) -> PyResult<Option<String>> {
        let numbers = |name: &str| {
            let column = self.batch.column_by_name(name)?;
            column.as_any().downcast_ref::<Float64Array>().map(Float64Array::values)
        };
        let columns = (numbers("arrival_ns"), numbers("her_ns"), numbers("completion_ns"));
        let (Some(arrival), Some(her), Some(completion)) = columns else { return Ok(None) };
        let every = arrival.len().div_ceil(SHOWN_POINTS).max(1);
        let mut steps: Vec<(f64, f64)> = (0..arrival.len())
            .step_by(every)
            .map(|row| (arrival[row] / 1e3, completion[row] - her[row]))
            .collect();
        steps.sort_by(|one, other| one.0.total_cmp(&other.0));
        let Some((end, _)) = steps.last().copied() else { return Ok(None) };
        let panel = Panel { title: "from HER to completion, ns".to_owned(), steps };
        let drawn = panels("Latency of packets", "arrival, µs", end, &[panel]);
        drawn.map(Some).map_err(|error| PyRuntimeError::new_err(error.to_string()))
    }

    /// Gives its columns as files have them.
    pub fn to_columns(&self) -> Vec<sweep::Column> {
        let column =
            |(name, array): (String, &ArrayRef)| sweep::Column { name, data: data(array.as_ref()) };
        self.names().into_iter().zip(self.batch.columns()).map(column).collect()
    }

    /// Makes the table of a sweep.
    pub fn of_columns(columns: &[sweep::Column]) -> PyResult<Self> {
        let array = |data: &Data| -> ArrayRef {
            match data {
                Data::Integers(cells) => Arc::new(Int64Array::from(cells.clone())),
                Data::Numbers(cells) => Arc::new(Float64Array::from(cells.clone())),
                Data::Truths(cells) => Arc::new(BooleanArray::from(cells.clone())),
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

/// What an HPU did.
#[derive(Default)]
struct Hpu {
    runs: u64,
    busy_ps: u64,
    instructions: u64,
    stall_cycles: u64,
    failed: u64,
}

/// Gives a column's cells as files have them.
fn data(column: &dyn Array) -> Data {
    let any = column.as_any();
    let integer = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    if let Some(column) = any.downcast_ref::<UInt64Array>() {
        Data::Integers(column.iter().map(|cell| cell.map(integer)).collect())
    } else if let Some(column) = any.downcast_ref::<UInt32Array>() {
        Data::Integers(column.iter().map(|cell| cell.map(i64::from)).collect())
    } else if let Some(column) = any.downcast_ref::<Int64Array>() {
        Data::Integers(column.iter().collect())
    } else if let Some(column) = any.downcast_ref::<Float64Array>() {
        Data::Numbers(column.iter().collect())
    } else if let Some(column) = any.downcast_ref::<BooleanArray>() {
        Data::Truths(column.iter().collect())
    } else {
        let column = any.downcast_ref::<StringArray>();
        let texts = column.map(|column| column.iter().map(|cell| cell.map(str::to_owned)));
        Data::Texts(texts.map(Iterator::collect).unwrap_or_default())
    }
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
