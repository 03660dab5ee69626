//! What memories hold of what runs step by step. In: C expressions of the program's variables, or addresses. Out:
//! values of Python, as the program's debug information (DWARF) has their types.

use pinion_debug::symbols::{Answer, Kind, Memory as Reads, Names, Symbols, Value};
use pinion_observe::fault::Program;
use pinion_python_guard::guarded;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

use super::Nic;
use super::stepped::At;
use crate::again::Made;
use crate::{again, errors};

/// Structures within structures that are followed.
const DEPTH_MAX: u32 = 16;
/// Bytes that are read at a time: no memory has more.
const MOST_BYTES: u32 = 1 << 30;

/// The memories of a NIC, or of a node.
#[pyclass(frozen, module = "pinion")]
pub struct Memory {
    pub(super) nic: Py<Nic>,
    /// Number of the node.
    pub(super) node: usize,
}

#[guarded]
#[pymethods]
impl Memory {
    /// Gives what a C expression comes to, as the first cluster sees it.
    fn __getitem__<'py>(&self, py: Python<'py>, expression: &str) -> PyResult<Bound<'py, PyAny>> {
        let call = || format!("[{}]", again::text(expression));
        errors::attached(py, self.again(call), || self.evaluated(py, expression, 0))
    }

    /// Gives what a C expression comes to, as a cluster sees it.
    #[pyo3(signature = (expression, *, cluster=0))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        expression: &str,
        cluster: u32,
    ) -> PyResult<Bound<'py, PyAny>> {
        let call = || format!(".get({}, cluster={cluster})", again::text(expression));
        errors::attached(py, self.again(call), || self.evaluated(py, expression, cluster))
    }

    /// Lists the program's variables that lie in no function.
    fn keys(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let own = self.nic.get().program(py, self.node)?;
        errors::detached(py, self.again(|| ".keys()".to_owned()), || {
            let program = Program::new(own.image(), own.file()?, own.code());
            let symbols = Symbols::new(&program);
            Ok(symbols.globals().iter().map(|variable| variable.name.clone()).collect())
        })
    }

    /// Reads so many bytes at an address of the NIC, as a cluster sees it.
    #[pyo3(signature = (address, count, *, cluster=0))]
    fn read<'py>(
        &self,
        py: Python<'py>,
        address: u64,
        count: u32,
        cluster: u32,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let call = || format!(".read({address}, {count}, cluster={cluster})");
        errors::attached(py, self.again(call), || {
            let state = self.nic.get().state(py)?;
            let end = address.checked_add(count.into()).filter(|_| count <= MOST_BYTES);
            let mut bytes = vec![0; end.map_or(0, |_| count as usize)];
            let at = At { node: self.node, cluster };
            match end.is_some() && state.stepped.read(at, address, &mut bytes) {
                true => Ok(PyBytes::new(py, &bytes)),
                false => {
                    let what =
                        format!("{count} bytes at {address:#x}: the NIC has no memory there");
                    Err(errors::usage(py, &what))
                }
            }
        })
    }
}

impl Made for Memory {
    fn again(&self, asked: &str) -> String {
        Memory::again(self, || asked.to_owned())()
    }
}

impl Memory {
    /// Gives what writes the command that does all again, and then a call of this memory.
    fn again(&self, call: impl FnOnce() -> String) -> impl FnOnce() -> String {
        let nic = self.nic.get();
        let memory = match nic.nodes.get(self.node) {
            Some(name) => format!("nic.memory_of({})", again::text(name)),
            None => "nic.memory".to_owned(),
        };
        nic.again(move || memory + &call())
    }

    fn evaluated<'py>(
        &self,
        py: Python<'py>,
        expression: &str,
        cluster: u32,
    ) -> PyResult<Bound<'py, PyAny>> {
        let nic = self.nic.get();
        let own = nic.program(py, self.node)?;
        let file = own.file().map_err(|error| errors::exception(py, &error))?;
        let program = Program::new(own.image(), file, own.code());
        let symbols = Symbols::new(&program);
        let state = nic.state(py)?;
        let at = At { node: self.node, cluster };
        let memory = |address: u64, buffer: &mut [u8]| {
            let is_there = state.stepped.read(at, address, buffer);
            if is_there { buffer.len() } else { 0 }
        };
        let names = Names { frame: None, memory: &memory, register: &|_| None };
        let answer = symbols.evaluate(expression, &names).map_err(PyKeyError::new_err)?;
        let shown = Shown { py, symbols: &symbols, memory: &memory };
        match answer {
            Answer::Value(value) => shown.value(&value, 0),
            Answer::Number(number) => Ok(number.into_pyobject(py)?.into_any()),
            Answer::Computed(number) => Ok(number.into_pyobject(py)?.into_any()),
        }
    }
}

/// Turns values of the program into those of Python.
struct Shown<'s, 'py> {
    py: Python<'py>,
    symbols: &'s Symbols<'s>,
    memory: &'s Reads<'s>,
}

impl<'py> Shown<'_, 'py> {
    fn value(&self, value: &Value, depth: u32) -> PyResult<Bound<'py, PyAny>> {
        let (py, symbols) = (self.py, self.symbols);
        let shown = symbols.type_of(value.type_id);
        let none = || Ok(py.None().into_bound(py));
        if depth > DEPTH_MAX {
            return none();
        }
        match &shown.kind {
            Kind::Structure { .. } => {
                let found = PyDict::new(py);
                for child in symbols.children(value, 0..u64::MAX, self.memory) {
                    found.set_item(&child.name, self.value(&child.value, depth + 1)?)?;
                }
                Ok(found.into_any())
            }
            Kind::Array { of, .. } => {
                if let Kind::Letter { .. } = symbols.type_of(*of).kind
                    && let Some(address) = value.address()
                {
                    let mut bytes = vec![0; shown.bytes as usize];
                    let is_there = (self.memory)(address, &mut bytes) == bytes.len();
                    return if is_there { Ok(PyBytes::new(py, &bytes).into_any()) } else { none() };
                }
                let children = symbols.children(value, 0..u64::MAX, self.memory);
                let values = children.iter().map(|child| self.value(&child.value, depth + 1));
                Ok(PyList::new(py, values.collect::<PyResult<Vec<_>>>()?)?.into_any())
            }
            kind => {
                let Some(word) = symbols.number(value, self.memory) else { return none() };
                let bits = value.bits.map_or(shown.bytes * 8, |(_, count)| count);
                self.scalar(kind, word, bits)
            }
        }
    }

    fn scalar(&self, kind: &Kind, word: u64, bits: u64) -> PyResult<Bound<'py, PyAny>> {
        let py = self.py;
        let extended = || match 64_u64.checked_sub(bits) {
            Some(shift @ 0..64) => (word as i64) << shift >> shift,
            _ => word as i64,
        };
        Ok(match kind {
            Kind::Signed | Kind::Letter { is_signed: true } => {
                extended().into_pyobject(py)?.into_any()
            }
            Kind::Truth => (word != 0).into_pyobject(py)?.to_owned().into_any(),
            Kind::Float if bits == 32 => f32::from_bits(word as u32).into_pyobject(py)?.into_any(),
            Kind::Float if bits == 64 => f64::from_bits(word).into_pyobject(py)?.into_any(),
            Kind::Enumeration { names } => {
                let found = names.iter().find(|(number, _)| *number == extended());
                match found {
                    Some((_, name)) => name.into_pyobject(py)?.into_any(),
                    None => extended().into_pyobject(py)?.into_any(),
                }
            }
            _ => word.into_pyobject(py)?.into_any(),
        })
    }
}
