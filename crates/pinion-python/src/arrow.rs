//! Frames in a table. In: whatever gives an Arrow stream by the PyCapsule interface, so a table of polars,
//! pandas, pyarrow or duckdb. Out: frames with their times: the column `frame`, bytes, and the column
//! `time_ns`, if there is one.

use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::{
    Array, BinaryArray, BinaryViewArray, Float64Array, Int64Array, LargeBinaryArray, RecordBatch,
    RecordBatchReader as _, UInt64Array,
};
use pinion_net::capture::TimedFrame;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::errors;
use crate::incoming::Incoming;
use crate::table::STREAM;
use crate::time::time_of_ns;

/// Reads the frames of a table.
pub fn frames(given: &Bound<'_, PyAny>) -> PyResult<Vec<TimedFrame>> {
    let py = given.py();
    let wrong = |why: &str| errors::usage(py, &format!("packets: {why}"));
    let capsule = given.call_method0("__arrow_c_stream__")?;
    let capsule =
        capsule.cast::<PyCapsule>().map_err(|_| wrong("no capsule of an Arrow stream"))?;
    let pointer = capsule.pointer_checked(Some(STREAM))?;
    // SAFETY: a capsule of this name holds a stream, says the interface; it is moved out, and what stays
    // behind is marked as released, so that nobody uses it twice.
    let stream = unsafe { FFI_ArrowArrayStream::from_raw(pointer.as_ptr().cast()) };
    let batches = RecordBatchStreamReader::try_new(stream);
    let batches = batches.map_err(|error| wrong(&error.to_string()))?;
    let names: Vec<String> =
        batches.schema().fields().iter().map(|field| field.name().clone()).collect();
    if !names.iter().any(|name| name == "frame") {
        let names = names.join(", ");
        return Err(wrong(&format!(
            "a table of packets has a column frame (bytes), and time_ns if they have times; this one has \
             {names}"
        )));
    }
    let mut frames = Incoming::default();
    for batch in batches {
        let batch = batch.map_err(|error| wrong(&error.to_string()))?;
        // A table may have batches without rows, and no end.
        py.check_signals()?;
        for name in ["frame", "time_ns"] {
            sound(&batch, name).map_err(|why| wrong(&format!("the column {name}: {why}")))?;
        }
        for row in 0..batch.num_rows() {
            let number = frames.count();
            let place = || format!("packets: row {number}");
            let other = |name, wanted, shown: String| {
                let place = place();
                errors::usage(
                    py,
                    &format!("{place}: {name} holds {wanted} in every row, not {shown}"),
                )
            };
            let bytes = frame(&batch, row)
                .ok_or_else(|| other("frame", "bytes", shown(&batch, "frame", row)))?;
            let time_ps = match time(&batch, row) {
                None => frames.last_ps(),
                Some(ns) => {
                    let shown =
                        || ns.map_or_else(|| shown(&batch, "time_ns", row), |ns| ns.to_string());
                    let wanted = "nanoseconds from 0 on (Float64, Int64 or UInt64)";
                    ns.and_then(time_of_ns).ok_or_else(|| other("time_ns", wanted, shown()))?.ps()
                }
            };
            frames.add(py, time_ps, bytes, place)?;
        }
    }
    Ok(frames.all())
}

/// Looks whether a column is what it says. Whoever made it may have had any bytes for offsets, and reading a row looks at
/// nothing of it.
fn sound(batch: &RecordBatch, name: &str) -> Result<(), String> {
    let Some(column) = batch.column_by_name(name) else { return Ok(()) };
    let (rows, all) = (column.len(), batch.num_rows());
    if rows < all {
        return Err(format!("it has {rows} rows, and the table {all}"));
    }
    column.to_data().validate_full().map_err(|error| error.to_string())
}

/// Says what a row of a column is.
fn shown(batch: &RecordBatch, name: &str, row: usize) -> String {
    match batch.column_by_name(name) {
        Some(column) if column.is_null(row) => "null".to_owned(),
        Some(column) => column.data_type().to_string(),
        None => "nothing".to_owned(),
    }
}

/// Gives the bytes of a row; `None`: there are none.
fn frame(batch: &RecordBatch, row: usize) -> Option<Vec<u8>> {
    let column = batch.column_by_name("frame").filter(|column| column.is_valid(row))?;
    let any = column.as_any();
    let bytes = if let Some(column) = any.downcast_ref::<BinaryArray>() {
        column.value(row)
    } else if let Some(column) = any.downcast_ref::<LargeBinaryArray>() {
        column.value(row)
    } else {
        any.downcast_ref::<BinaryViewArray>()?.value(row)
    };
    Some(bytes.to_vec())
}

/// Gives the nanosecond of a row, if the table has times; `Some(None)`: this one is no number.
fn time(batch: &RecordBatch, row: usize) -> Option<Option<f64>> {
    let column = batch.column_by_name("time_ns")?;
    if !column.is_valid(row) {
        return Some(None);
    }
    let any = column.as_any();
    Some(if let Some(column) = any.downcast_ref::<Float64Array>() {
        Some(column.value(row))
    } else if let Some(column) = any.downcast_ref::<Int64Array>() {
        Some(column.value(row) as f64)
    } else {
        any.downcast_ref::<UInt64Array>().map(|column| column.value(row) as f64)
    })
}
