//! Reads the file's tables, checking each against the file's length before it is used.

use object::elf::{self, FileHeader32, FileHeader64};
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader, Sym};
use object::{LittleEndian, SymbolIndex};

use super::{ElfError, Image, Section, Segment, SegmentFlags, Symbol, SymbolKind};
use crate::Xlen;

const LE: LittleEndian = LittleEndian;

pub(super) fn parse<X: Xlen>(bytes: &[u8], name: &str) -> Result<Image, ElfError> {
    let file = File { bytes, name, machine: RISC_V };
    file.check_identification(X::BITS)?;
    if X::BITS == 32 {
        file.parse::<FileHeader32<LittleEndian>>()
    } else {
        file.parse::<FileHeader64<LittleEndian>>()
    }
}

pub(super) fn parse_x32(bytes: &[u8], name: &str) -> Result<Image, ElfError> {
    let file = File { bytes, name, machine: X86_64 };
    file.check_identification(32)?;
    file.parse::<FileHeader32<LittleEndian>>()
}

/// ELF's number of RISC-V.
const RISC_V: u16 = 243;
/// ELF's number of x86-64.
const X86_64: u16 = 62;

#[derive(Clone, Copy)]
struct File<'a> {
    bytes: &'a [u8],
    name: &'a str,
    machine: u16,
}

impl File<'_> {
    fn name(&self) -> String {
        self.name.into()
    }

    fn damaged(&self, what: impl Into<String>) -> ElfError {
        ElfError::Damaged { name: self.name(), what: what.into() }
    }

    /// Checks that a part of the file lies within it.
    fn check_range(
        &self,
        offset: u64,
        length: u64,
        what: impl Fn() -> String,
    ) -> Result<(), ElfError> {
        let file_length = self.bytes.len() as u64;
        match offset.checked_add(length) {
            Some(end) if end <= file_length => Ok(()),
            Some(end) => Err(ElfError::Truncated {
                name: self.name(),
                what: what(),
                end,
                length: file_length,
            }),
            None => Err(self.damaged(format!("{} lies beyond any file", what()))),
        }
    }

    /// Checks the first bytes, which say the format of all others.
    fn check_identification(&self, bits: u32) -> Result<(), ElfError> {
        if !self.bytes.starts_with(b"\x7fELF") {
            return Err(ElfError::NotElf { name: self.name(), found: self.describe_start() });
        }
        let header_bytes = if self.bytes.get(4) == Some(&2) { 64 } else { 52 };
        self.check_range(0, header_bytes, || "the file header".into())?;
        let format = |found, needed, option| {
            Err(ElfError::WrongFormat { name: self.name(), found, needed, option })
        };
        if self.bytes[5] != 1 {
            return format("a big-endian ELF file", "a little-endian one", "-mlittle-endian");
        }
        self.check_machine(u16::from_le_bytes([self.bytes[18], self.bytes[19]]))?;
        match (self.bytes[4], bits) {
            (1, 32) | (2, 64) => Ok(()),
            (2, _) => format(
                "a 64-bit RISC-V program",
                "a 32-bit one",
                "-march=rv32imac_zicsr -mabi=ilp32",
            ),
            (1, _) => format(
                "a 32-bit RISC-V program",
                "a 64-bit one",
                "-march=rv64imac_zicsr -mabi=lp64",
            ),
            _ => Err(self.damaged("its class is neither 32-bit nor 64-bit")),
        }
    }

    fn check_machine(&self, machine: u16) -> Result<(), ElfError> {
        let found = match machine {
            _ if machine == self.machine => return Ok(()),
            RISC_V => "RISC-V".into(),
            3 => "x86 (i386)".into(),
            40 => "32-bit Arm".into(),
            X86_64 => "x86-64".into(),
            183 => "64-bit Arm (AArch64)".into(),
            8 => "MIPS".into(),
            247 => "eBPF".into(),
            other => format!("another processor (ELF machine number {other})"),
        };
        Err(ElfError::WrongMachine { name: self.name(), found })
    }

    fn describe_start(&self) -> String {
        match self.bytes {
            [] => "it is empty".into(),
            [b'!', b'<', b'a', b'r', b'c', b'h', b'>', ..] => "it is a static library".into(),
            [b'#', b'!', ..] => "it is a script".into(),
            bytes => {
                let start: Vec<String> =
                    bytes.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
                format!("it begins with {}", start.join(" "))
            }
        }
    }

    fn parse<E: FileHeader<Endian = LittleEndian>>(&self) -> Result<Image, ElfError> {
        let header = E::parse(self.bytes).map_err(|error| self.damaged(error.to_string()))?;
        self.check_type(header.e_type(LE).0)?;
        let segments = self.segments(header)?;
        let (symbols, sections) = self.tables(header)?;
        Ok(Image {
            name: self.name(),
            entry: header.e_entry(LE).into(),
            flags: header.e_flags(LE).0,
            segments,
            symbols,
            sections,
        })
    }

    fn check_type(&self, kind: u16) -> Result<(), ElfError> {
        let (found, advice) = match kind {
            2 => return Ok(()),
            1 => ("an object file", "with the others and the SDK's linker script"),
            3 => ("position-independent", "with -static -no-pie"),
            4 => ("a core dump", "the program itself"),
            _ => ("of unknown type", "with the SDK's linker script"),
        };
        Err(ElfError::NotExecutable { name: self.name(), found: found.into(), advice })
    }

    fn segments<E: FileHeader<Endian = LittleEndian>>(
        &self,
        header: &E,
    ) -> Result<Vec<Segment>, ElfError> {
        let entry_bytes = u64::from(header.e_phentsize(LE));
        let table_bytes = entry_bytes * u64::from(header.e_phnum(LE));
        self.check_range(header.e_phoff(LE).into(), table_bytes, || {
            "the program header table".into()
        })?;
        let table = header
            .program_headers(LE, self.bytes)
            .map_err(|error| self.damaged(error.to_string()))?;
        let loaded = || {
            table.iter().enumerate().filter(|(_, entry)| {
                entry.p_type(LE) == elf::PT_LOAD && entry.p_memsz(LE).into() != 0u64
            })
        };
        // Overlapping segments could otherwise ask for far more memory than the file has.
        let total = loaded().fold(0u64, |sum, (_, entry)| {
            let length: u64 = entry.p_filesz(LE).into();
            sum.saturating_add(length)
        });
        if total / 4 > self.bytes.len() as u64 {
            return Err(self.damaged("its segments hold far more bytes than the file"));
        }
        let segments = loaded()
            .map(|(index, entry)| self.segment::<E>(index, entry))
            .collect::<Result<Vec<_>, _>>()?;
        if segments.is_empty() {
            return Err(ElfError::NothingToLoad { name: self.name() });
        }
        Ok(segments)
    }

    fn segment<E: FileHeader<Endian = LittleEndian>>(
        &self,
        index: usize,
        entry: &E::ProgramHeader,
    ) -> Result<Segment, ElfError> {
        let (offset, length): (u64, u64) = (entry.p_offset(LE).into(), entry.p_filesz(LE).into());
        let address: u64 = entry.p_vaddr(LE).into();
        let load_address: u64 = entry.p_paddr(LE).into();
        let memory_bytes: u64 = entry.p_memsz(LE).into();
        self.check_range(offset, length, || format!("segment {index} (at {address:#x})"))?;
        if length > memory_bytes {
            return Err(self.damaged(format!(
                "segment {index} has {length} bytes in the file but {memory_bytes} in memory"
            )));
        }
        let limit = if size_of::<E::Word>() == 4 { 1 << 32 } else { u128::from(u64::MAX) + 1 };
        if u128::from(address.max(load_address)) + u128::from(memory_bytes) > limit {
            return Err(self.damaged(format!(
                "segment {index} (at {address:#x}, {memory_bytes} bytes) passes the end of memory"
            )));
        }
        let flags = entry.p_flags(LE).0;
        Ok(Segment {
            address,
            load_address,
            data: self.bytes[offset as usize..(offset + length) as usize].to_vec(),
            memory_bytes,
            flags: SegmentFlags {
                read: flags & 4 != 0,
                write: flags & 2 != 0,
                execute: flags & 1 != 0,
            },
        })
    }

    /// Reads symbols and sections; a stripped file has none, which is fine.
    fn tables<E: FileHeader<Endian = LittleEndian>>(
        &self,
        header: &E,
    ) -> Result<(Vec<Symbol>, Vec<Section>), ElfError> {
        let offset: u64 = header.e_shoff(LE).into();
        if offset == 0 {
            return Ok((Vec::new(), Vec::new()));
        }
        let table_bytes = u64::from(header.e_shentsize(LE)) * u64::from(header.e_shnum(LE));
        self.check_range(offset, table_bytes, || "the section header table".into())?;
        let damaged = |error: object::read::Error| self.damaged(error.to_string());
        let table = header.sections(LE, self.bytes).map_err(damaged)?;
        let mut sections = Vec::new();
        for (index, section) in table.enumerate() {
            let name = String::from_utf8_lossy(table.section_name(LE, section).map_err(damaged)?)
                .into_owned();
            let size: u64 = section.sh_size(LE).into();
            let kind = section.sh_type(LE);
            if kind != elf::SHT_NOBITS && kind != elf::SHT_NULL {
                self.check_range(section.sh_offset(LE).into(), size, || {
                    format!("section {} `{name}`", index.0)
                })?;
            }
            let occupies_memory = section.sh_flags(LE).contains(elf::SHF_ALLOC) && size != 0;
            if occupies_memory {
                sections.push(Section { name, address: section.sh_addr(LE).into(), size });
            }
        }
        sections.sort_by_key(|section| section.address);
        let symbols = table.symbols(LE, self.bytes, elf::SHT_SYMTAB).map_err(damaged)?;
        let mut named = Vec::new();
        for index in 1..symbols.len() {
            let symbol = symbols.symbol(SymbolIndex(index)).map_err(damaged)?;
            let name = symbols.symbol_name(LE, symbol).map_err(damaged)?;
            named.extend(convert::<E>(symbol, &String::from_utf8_lossy(name)));
        }
        named.sort_by_key(|symbol| symbol.address);
        Ok((named, sections))
    }
}

/// Keeps the symbols that name a place in memory: no files, sections, mapping or local labels.
fn convert<E: FileHeader<Endian = LittleEndian>>(symbol: &E::Sym, name: &str) -> Option<Symbol> {
    let section = symbol.st_shndx(LE);
    let kind = match symbol.st_type() {
        _ if section == elf::SHN_UNDEF => return None,
        elf::STT_FUNC => SymbolKind::Function,
        elf::STT_OBJECT => SymbolKind::Object,
        elf::STT_NOTYPE if section == elf::SHN_ABS => SymbolKind::Absolute,
        elf::STT_NOTYPE => SymbolKind::Label,
        _ => return None,
    };
    if name.is_empty() || name.starts_with('$') || name.starts_with(".L") {
        return None;
    }
    Some(Symbol {
        name: name.into(),
        address: symbol.st_value(LE).into(),
        size: symbol.st_size(LE).into(),
        kind,
        global: symbol.st_bind() != elf::STB_LOCAL,
    })
}
