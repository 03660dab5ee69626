//! A target of `pinion_fuzz`: the one that has this binary's name, or that `PINION_FUZZ_TARGET` names, so that one
//! binary serves for all where building each would take long.
#![no_main]

use std::sync::LazyLock;

use pinion_fuzz::Target;

static TARGET: LazyLock<&Target> = LazyLock::new(|| {
    let asked = std::env::var("PINION_FUZZ_TARGET");
    let name = asked.as_deref().unwrap_or(env!("CARGO_BIN_NAME"));
    pinion_fuzz::find(name).unwrap_or_else(|| panic!("there is no target {name}"))
});

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let said = match TARGET.mend {
        None => (TARGET.run)(input),
        // A reader looks no further than a checksum that is wrong.
        Some(mend) => {
            let mut mended = input.to_vec();
            mend(&mut mended);
            (TARGET.run)(&mended)
        }
    };
    std::hint::black_box(said);
});
