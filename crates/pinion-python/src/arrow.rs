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
    let mut frames = Vec::new();
    for batch in batches {
        let batch = batch.map_err(|error| wrong(&error.to_string()))?;
        for row in 0..batch.num_rows() {
            let last = frames.last().map_or(0, |last: &TimedFrame| last.time_ps);
            let wrong = |why: &str| wrong(&format!("row {}: {why}", frames.len()));
            let bytes =
                frame(&batch, row).ok_or_else(|| wrong("frame holds bytes in every row"))?;
            let time_ps = match time(&batch, row) {
                None => last,
                Some(ns) => ns
                    .and_then(time_of_ns)
                    .ok_or_else(|| wrong("time_ns holds nanoseconds from 0 on in every row"))?
                    .ps(),
            };
            if time_ps < last {
                return Err(wrong("it arrives before the one in front of it"));
            }
            let original_bytes = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
            frames.push(TimedFrame { time_ps, bytes, original_bytes });
        }
    }
    Ok(frames)
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
