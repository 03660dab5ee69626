//! Who hears how far work is. In: what `progress=` says: a function, or `True`. Out: who is called, and
//! told at the end.

use pyo3::prelude::*;
use pyo3::types::PyBool;

use crate::errors;

/// Somebody who is called while work goes on, or nobody.
#[derive(Default)]
pub struct Heard {
    callback: Option<Py<PyAny>>,
    /// The package's own bar, whose line is taken away at the end.
    is_bar: bool,
}

impl Heard {
    /// Takes what `progress=` says.
    pub fn new(py: Python<'_>, given: Option<Py<PyAny>>) -> PyResult<Self> {
        let Some(given) = given else { return Ok(Self::default()) };
        if let Ok(truth) = given.bind(py).cast::<PyBool>() {
            if !truth.is_true() {
                return Ok(Self::default());
            }
            let bar = py.import("pinion._progress")?.getattr("Bar")?.call0()?;
            return Ok(Self { callback: Some(bar.unbind()), is_bar: true });
        }
        if !given.bind(py).is_callable() {
            return Err(errors::usage(py, "progress= is a function, or True"));
        }
        Ok(Self { callback: Some(given), is_bar: false })
    }

    /// Gives who is called.
    pub fn callback(&self) -> Option<&Py<PyAny>> {
        self.callback.as_ref()
    }
}

impl Drop for Heard {
    fn drop(&mut self) {
        if let Some(bar) = self.callback.take().filter(|_| self.is_bar) {
            // What it printed stands there if it cannot be taken away.
            Python::attach(|py| bar.call_method0(py, "end").map(drop)).ok();
        }
    }
}
