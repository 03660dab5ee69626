//! Loads a block's library and makes a block of it: all unsafe code of hardware in the loop.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::fmt;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::Arc;

use libloading::os::unix;
use libloading::{Library as Shared, Symbol};

use crate::HardwareError;
use crate::library::{Found, Library};

/// What a library calls must be there when it is opened: a function that its block imports and nobody wrote would end
/// the process at the call.
const WHOLE: c_int = unix::RTLD_NOW | unix::RTLD_LOCAL;

type New = unsafe extern "C" fn() -> *mut c_void;
type Delete = unsafe extern "C" fn(*mut c_void);
type Eval = unsafe extern "C" fn(*mut c_void) -> c_int;
type Problem = unsafe extern "C" fn() -> *const c_char;
type Place = unsafe extern "C" fn(*mut c_void, c_uint) -> *mut c_void;

/// Holds the calls of a library, which stays loaded as long as a block of it is there.
#[derive(Clone)]
struct Calls {
    delete: Delete,
    eval: Eval,
    problem: Problem,
    _library: Arc<Shared>,
}

/// Is a block that can be evaluated.
pub struct Loaded {
    calls: Calls,
    block: NonNull<c_void>,
    /// By port: where its value is, and its bits.
    places: Vec<(NonNull<c_void>, u32)>,
}

// SAFETY: a block and its context are used by nobody but their owner, and nothing of them belongs to a thread.
unsafe impl Send for Loaded {}
// SAFETY: what takes `&self` only reads values that no other call changes without `&mut self`.
unsafe impl Sync for Loaded {}

impl fmt::Debug for Loaded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Loaded").field("ports", &self.places.len()).finish_non_exhaustive()
    }
}

fn symbol<T: Copy>(library: &Shared, path: &Path, name: &str) -> Result<T, HardwareError> {
    // SAFETY: `library` was made from the text in `library.rs`, whose functions have these types.
    let found: Result<Symbol<'_, T>, _> = unsafe { library.get(name.as_bytes()) };
    found.map(|symbol| *symbol).map_err(|error| problem(path, error))
}

fn problem(path: &Path, error: impl fmt::Display) -> HardwareError {
    HardwareError::Load { path: path.to_owned(), problem: error.to_string() }
}

impl Loaded {
    /// Makes a block of a library.
    ///
    /// # Errors
    /// When it cannot be loaded, or the block stops at once.
    pub fn new(library: &Library) -> Result<Self, HardwareError> {
        let path = &library.path;
        // SAFETY: the library is of the user's own cache, made of the block that they asked for; its
        // constructors are those of Verilator's runtime.
        let shared = unsafe { unix::Library::open(Some(path), WHOLE) };
        let shared = Arc::new(Shared::from(shared.map_err(|error| problem(path, error))?));
        let new: New = symbol(&shared, path, "pinion_block_new")?;
        let place: Place = symbol(&shared, path, "pinion_block_port")?;
        let calls = Calls {
            delete: symbol(&shared, path, "pinion_block_delete")?,
            eval: symbol(&shared, path, "pinion_block_eval")?,
            problem: symbol(&shared, path, "pinion_block_problem")?,
            _library: shared,
        };
        // SAFETY: it takes nothing, and gives a block or null.
        let block = NonNull::new(unsafe { new() });
        let block = block.ok_or_else(|| problem(path, "the block does not begin"))?;
        let mut loaded = Self { calls, block, places: Vec::new() };
        for (index, port) in library.ports.iter().enumerate() {
            // SAFETY: the block is there, and numbers beyond its ports give null.
            let at = NonNull::new(unsafe { place(block.as_ptr(), index as c_uint) });
            let at = at.ok_or_else(|| problem(path, "it has fewer ports than it should"))?;
            loaded.places.push((at, port.bits));
        }
        Ok(loaded)
    }

    /// Lets outputs and registers follow the inputs.
    ///
    /// # Errors
    /// With what the block stopped with.
    pub fn eval(&mut self) -> Result<(), String> {
        // SAFETY: the block is there until `drop`.
        if unsafe { (self.calls.eval)(self.block.as_ptr()) } == 0 {
            return Ok(());
        }
        // SAFETY: the text is there until the next call of this thread.
        let text = unsafe { CStr::from_ptr((self.calls.problem)()) };
        Err(text.to_string_lossy().trim().to_owned())
    }

    /// Gives a port's value, the lowest 64 bits of it.
    pub fn get(&self, port: usize) -> u64 {
        let (at, bits) = self.places[port];
        let at = at.as_ptr();
        // SAFETY: Verilator keeps ports of up to 8, 16, 32 and 64 bits in integers of that size, and wider
        // ones as words of 32 bits, the lowest first (its manual, "Connecting to Verilated models").
        unsafe {
            match bits {
                0..=8 => u64::from(*at.cast::<u8>()),
                9..=16 => u64::from(*at.cast::<u16>()),
                17..=32 => u64::from(*at.cast::<u32>()),
                33..=64 => *at.cast::<u64>(),
                _ => u64::from(*at.cast::<u32>()) | u64::from(*at.cast::<u32>().add(1)) << 32,
            }
        }
    }

    /// Adds a port's value to a list, as words of 32 bits, the lowest first.
    pub fn words(&self, port: usize, to: &mut Vec<u32>) {
        let (at, bits) = self.places[port];
        if bits <= 64 {
            let value = self.get(port);
            to.push(value as u32);
            if bits > 32 {
                to.push((value >> 32) as u32);
            }
            return;
        }
        let count = bits.div_ceil(32) as usize;
        // SAFETY: a wide port has so many words, as above.
        to.extend_from_slice(unsafe {
            std::slice::from_raw_parts(at.as_ptr().cast::<u32>(), count)
        });
    }

    /// Gives an input of up to 64 bits a value; what does not fit is cut.
    pub fn put(&mut self, port: usize, value: u64) {
        let (_, bits) = self.places[port];
        self.write(port, 0, if bits < 64 { value & ((1 << bits) - 1) } else { value });
    }

    /// Gives 32 bits of an input their value; what lies behind its last bit is cut.
    pub fn put_word(&mut self, port: usize, word: usize, value: u32) {
        let (_, bits) = self.places[port];
        if word >= bits.div_ceil(32) as usize {
            return;
        }
        if bits > 64 {
            self.write(port, word, value.into());
            return;
        }
        let place = 32 * word as u32;
        let others = self.get(port) & !(u64::from(u32::MAX) << place);
        self.put(port, others | u64::from(value) << place);
    }

    /// Writes an input of up to 64 bits, or a word of 32 that a wider one has.
    fn write(&mut self, port: usize, word: usize, value: u64) {
        let (at, bits) = self.places[port];
        let at = at.as_ptr();
        // SAFETY: as in `get`; callers name words that the port has.
        unsafe {
            match bits {
                0..=8 => *at.cast::<u8>() = value as u8,
                9..=16 => *at.cast::<u16>() = value as u16,
                17..=32 => *at.cast::<u32>() = value as u32,
                33..=64 => *at.cast::<u64>() = value,
                _ => *at.cast::<u32>().add(word) = value as u32,
            }
        }
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        // SAFETY: the block was made by the same library, and is not used behind this.
        unsafe { (self.calls.delete)(self.block.as_ptr()) }
    }
}

/// Gives the place of a port of a name.
pub(crate) fn position(ports: &[Found], name: &str) -> Option<usize> {
    ports.iter().position(|port| port.name == name)
}
