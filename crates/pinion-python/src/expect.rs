//! Frames in words. In: frames that must come, and those that came. Out: what differs, as `pinion test`
//! says it.

use pinion_expect as expect;
use pyo3::prelude::*;

use crate::{again, errors};

/// Writes a frame in short: its protocol, addresses and payload.
#[pyfunction]
pub fn describe(py: Python<'_>, frame: Vec<u8>) -> PyResult<String> {
    let again = || again::script(&[format!("pinion.describe({})", again::frame(&frame))]);
    errors::attached(py, again, || Ok(expect::describe(&frame)))
}

/// Says what differs between frames that must come and those that came; empty: nothing.
#[pyfunction]
#[pyo3(signature = (expected, got, *, in_order=true))]
pub fn differences(
    py: Python<'_>,
    expected: Vec<Vec<u8>>,
    got: Vec<Vec<u8>>,
    in_order: bool,
) -> PyResult<Vec<String>> {
    let again = || {
        let list = |frames: &[Vec<u8>]| {
            frames.iter().map(|frame| again::frame(frame)).collect::<Vec<_>>().join(", ")
        };
        let order = if in_order { "True" } else { "False" };
        let (expected, got) = (list(&expected), list(&got));
        again::script(&[format!("pinion.differences([{expected}], [{got}], in_order={order})")])
    };
    errors::attached(py, again, || Ok(expect::differences("out", &expected, &got, in_order)))
}
