use super::*;

/// Builds a small executable: one segment with two instructions, two symbols.
fn build() -> Vec<u8> {
    let text = [0x13u8, 0x05, 0x10, 0x00, 0x67, 0x80, 0x00, 0x00]; // li a0, 1; ret
    let strings = b"\0start\0handler_hh\0\0";
    let names = b"\0.text\0.symtab\0.strtab\0.shstrtab\0";
    let (text_at, symbols_at) = (84u32, 92u32);
    let strings_at = symbols_at + 48;
    let names_at = strings_at + strings.len() as u32;
    let sections_at = names_at + names.len() as u32;
    let mut file = vec![];
    let words = |file: &mut Vec<u8>, words: &[u32]| {
        file.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    };
    let halves = |file: &mut Vec<u8>, halves: &[u16]| {
        file.extend(halves.iter().flat_map(|half| half.to_le_bytes()));
    };
    file.extend(b"\x7fELF\x01\x01\x01\0\0\0\0\0\0\0\0\0");
    halves(&mut file, &[2, 243]);
    words(&mut file, &[1, 0x1d00_0000, 52, sections_at, 1]);
    halves(&mut file, &[52, 32, 1, 40, 5, 4]);
    words(&mut file, &[1, text_at, 0x1d00_0000, 0x1d00_0000, 8, 16, 5, 4]);
    file.extend(text);
    words(&mut file, &[0, 0, 0, 0]);
    words(&mut file, &[1, 0x1d00_0000, 0]);
    file.extend([0x10, 0]);
    halves(&mut file, &[1]);
    words(&mut file, &[7, 0x1d00_0004, 4]);
    file.extend([0x12, 0]);
    halves(&mut file, &[1]);
    file.extend(strings);
    file.extend(names);
    words(&mut file, &[0; 10]);
    words(&mut file, &[1, 1, 6, 0x1d00_0000, text_at, 8, 0, 0, 4, 0]);
    words(&mut file, &[7, 2, 0, 0, symbols_at, 48, 3, 1, 4, 16]);
    words(&mut file, &[15, 3, 0, 0, strings_at, strings.len() as u32, 0, 0, 1, 0]);
    words(&mut file, &[23, 3, 0, 0, names_at, names.len() as u32, 0, 0, 1, 0]);
    file
}

fn message(bytes: &[u8]) -> String {
    Image::parse(bytes, "app.elf").unwrap_err().to_string()
}

#[test]
fn reads_what_to_load_and_where_things_are() {
    let image = Image::parse(&build(), "app.elf").unwrap();
    assert_eq!(image.entry, 0x1d00_0000);
    assert_eq!(image.segments.len(), 1);
    let segment = &image.segments[0];
    assert_eq!((segment.address, segment.data.len(), segment.memory_bytes), (0x1d00_0000, 8, 16));
    assert!(segment.flags.read && segment.flags.execute && !segment.flags.write);
    assert_eq!(image.symbol("handler_hh").unwrap().address, 0x1d00_0004);
    assert_eq!(image.symbol_at(0x1d00_0006).unwrap().name, "handler_hh");
    assert_eq!(image.symbol_at(0x1d00_0002).unwrap().name, "start");
    assert_eq!(image.symbol_at(0x1d00_0010), None);
    assert_eq!(image.section_at(0x1d00_0007).unwrap().name, ".text");
    assert!(image.segment_at(0x1d00_000f).is_some());
}

#[test]
fn suggests_the_nearest_symbol() {
    let image = Image::parse(&build(), "app.elf").unwrap();
    let error = image.require("handler_ph").unwrap_err().to_string();
    assert_eq!(error, "app.elf has no symbol `handler_ph`; did you mean `handler_hh`?");
    assert!(image.require("zzz").unwrap_err().to_string().contains("not `static`"));
}

#[test]
fn says_what_is_wrong() {
    assert!(message(b"").contains("empty"));
    assert!(message(b"{\"a\": 1}").contains("begins with 7b 22 61 22"));
    assert!(message(b"\x7fELF\x01\x01").contains("truncated: the file header"));
    let mut x86 = build();
    (x86[4], x86[18], x86[19]) = (2, 62, 0);
    assert!(message(&x86).contains("is for x86-64, but this core runs RISC-V"));
    let mut wide = build();
    wide[4] = 2;
    assert!(message(&wide).contains("-mabi=ilp32"));
    let mut big = build();
    big[5] = 2;
    assert!(message(&big).contains("big-endian"));
    let mut object = build();
    object[16] = 1;
    assert!(message(&object).contains("an object file, not an executable"));
    let mut pie = build();
    pie[16] = 3;
    assert!(message(&pie).contains("-no-pie"));
    let mut empty = build();
    empty[52] = 0;
    assert!(message(&empty).contains("no segment to load"));
    let mut high = build();
    high[63] = 0xff;
    high[62] = 0xff;
    high[61] = 0xff;
    high[60] = 0xfc;
    assert!(message(&high).contains("passes the end of memory"), "{}", message(&high));
}

#[test]
fn every_truncation_is_an_error() {
    let whole = build();
    for length in 0..whole.len() {
        let error = Image::parse(&whole[..length], "app.elf").expect_err("truncated");
        if length >= 4 {
            assert!(matches!(error, ElfError::Truncated { .. }), "{length}: {error}");
        }
    }
}

#[test]
fn no_corruption_panics() {
    let whole = build();
    for position in 0..whole.len() {
        for value in [0, 1, 0x7f, 0x80, 0xff] {
            let mut corrupt = whole.clone();
            corrupt[position] = value;
            if let Ok(image) = Image::parse(&corrupt, "app.elf") {
                let _ = (image.symbol_at(0x1d00_0005), image.section_at(u64::MAX));
                let _ = (image.segment_at(u64::MAX), image.nearest_symbol("x"));
            }
            let _ = Image::parse_for::<u64>(&corrupt, "app.elf");
        }
    }
}

#[test]
fn finds_sections_that_are_not_loaded() {
    let file = build();
    assert_eq!(section_data(&file, ".text"), Some(&file[84..92]));
    assert_eq!(section_data(&file, ".debug_info"), None);
    for end in 0..file.len() {
        let _ = section_data(&file[..end], ".text");
    }
}
