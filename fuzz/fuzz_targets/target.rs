//! A target of `pinion_fuzz`: the one that has this binary's name.
#![no_main]

use std::sync::LazyLock;

use pinion_fuzz::Target;

static TARGET: LazyLock<&Target> = LazyLock::new(|| {
    pinion_fuzz::find(env!("CARGO_BIN_NAME")).expect("the list in Cargo.toml is the crate's")
});

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    std::hint::black_box((TARGET.run)(input));
});
