//! The C library's standard output.

use std::ffi::{CString, c_char, c_int};

unsafe extern "C" {
    fn printf(format: *const c_char, ...) -> c_int;
}

/// Writes to it, so that lines stay in order with the driver's own.
pub fn print(text: &str) {
    if cfg!(miri) {
        // Which knows no function of C with as many arguments as one likes.
        print!("{text}");
        return;
    }
    let Ok(text) = CString::new(text.replace('\0', " ")) else { return };
    // SAFETY: the format takes one string, and both end with zero.
    unsafe { printf(c"%s".as_ptr(), text.as_ptr()) };
}
