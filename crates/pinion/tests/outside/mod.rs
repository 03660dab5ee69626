//! What tests of the command from outside share: a folder of its own with a small application.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder of its own, removed at the end.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("pinion-cli-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).unwrap();
        Self(dir)
    }

    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        path
    }

    /// An application with a prebuilt program: nothing needs a compiler.
    pub fn app(&self, manifest: &str) -> PathBuf {
        self.write("app/app.toml", manifest);
        self.write("app/app.elf", program(&HANDLERS));
        self.0.join("app")
    }

    /// An application of a calibration program: its payload handler takes every UDP packet.
    pub fn calibration(&self, program: &str, handler: &str) -> PathBuf {
        let manifest = format!(
            "[app]\nname = \"{program}\"\nelf = \"{program}.elf\"\n\n[[context]]\nname = \"all\"\n\
             match = [\"udp\"]\npayload = \"{handler}\"\nhost_memory = \"1MiB\"\n\
             scratchpad = \"16KiB\"\nhandler_memory = \"64KiB\"\n"
        );
        let elves = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/calibration/pspin/elf");
        let name = format!("{program}-{handler}");
        let elf = fs::read(elves.join(format!("{program}.elf"))).unwrap();
        self.write(&format!("{name}/{program}.elf"), elf);
        self.write(&format!("{name}/app.toml"), manifest);
        self.0.join(name)
    }

    pub fn pinion(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_pinion"))
            .args(arguments)
            .current_dir(&self.0)
            .env("PINION_SDK", sdk())
            .output()
            .unwrap()
    }

    /// Runs and expects one paragraph that contains all of `parts`, status 2, and no new file.
    pub fn refuses(&self, arguments: &[&str], parts: &[&str]) {
        let before = self.files();
        let output = self.pinion(arguments);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {text}");
        assert_eq!(text.trim_end().lines().count(), 1, "{arguments:?}: {text}");
        assert!(text.starts_with("pinion: "), "{arguments:?}: {text}");
        for part in parts {
            assert!(text.contains(part), "{arguments:?}: no `{part}` in {text}");
        }
        assert!(output.stdout.is_empty(), "{arguments:?}: {:?}", output.stdout);
        assert_eq!(self.files(), before, "{arguments:?}: files were left");
    }

    pub fn files(&self) -> Vec<PathBuf> {
        fn walk(dir: &Path, files: &mut Vec<PathBuf>) {
            for entry in fs::read_dir(dir).unwrap().flatten() {
                match entry.path() {
                    path if path.is_dir() => walk(&path, files),
                    path => files.push(path),
                }
            }
        }
        let mut files = Vec::new();
        walk(&self.0, &mut files);
        files.sort();
        files
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub fn sdk() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sdk")
}

pub fn example(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name);
    path.display().to_string()
}

pub fn has_gcc() -> bool {
    let found = Command::new("riscv64-unknown-elf-gcc").arg("--version").output().is_ok();
    if !found {
        eprintln!("riscv64-unknown-elf-gcc is not installed: nothing tested");
    }
    found
}

pub const MANIFEST: &str = r#"[app]
name = "app"
elf = "app.elf"

[[context]]
name = "all"
match = ["icmp.echo"]
payload = "good_ph"
"#;

/// Symbols of the prebuilt program.
pub const HANDLERS: [(&str, u32); 2] = [("good_ph", 0x1d00_0080), ("table", 0x1c00_0000)];

/// Makes a small RV32 executable: a loop at the reset address, and the symbols.
pub fn program(symbols: &[(&str, u32)]) -> Vec<u8> {
    let code: Vec<u8> = [0x6f_u32; 8].iter().flat_map(|word| word.to_le_bytes()).collect();
    let mut names = vec![0];
    let mut table = vec![0; 16];
    for (name, address) in symbols {
        table.extend((names.len() as u32).to_le_bytes());
        table.extend(address.to_le_bytes());
        table.extend(4_u32.to_le_bytes());
        table.extend([0x12, 0, 0xf1, 0xff]); // global function, absolute
        names.extend(name.bytes().chain([0]));
    }
    let section_names = b"\0.symtab\0.strtab\0.shstrtab\0";
    let (code_at, table_at) = (84, 84 + code.len() as u32);
    let names_at = table_at + table.len() as u32;
    let section_names_at = names_at + names.len() as u32;
    let sections_at = (section_names_at + section_names.len() as u32).next_multiple_of(4);
    let mut file = b"\x7fELF\x01\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    for half in [2_u16, 243] {
        file.extend(half.to_le_bytes());
    }
    for word in [1, 0x1d00_0080, 52, sections_at, 0] {
        file.extend(word.to_le_bytes());
    }
    for half in [52_u16, 32, 1, 40, 4, 3] {
        file.extend(half.to_le_bytes());
    }
    let length = code.len() as u32;
    for word in [1, code_at, 0x1d00_0080, 0x1d00_0080, length, length, 5, 4] {
        file.extend(word.to_le_bytes());
    }
    file.extend(&code);
    file.extend(&table);
    file.extend(&names);
    file.extend(section_names);
    file.resize(sections_at as usize, 0);
    let entries = [
        [0; 10],
        [1, 2, 0, 0, table_at, table.len() as u32, 2, 1, 4, 16],
        [9, 3, 0, 0, names_at, names.len() as u32, 0, 0, 1, 0],
        [17, 3, 0, 0, section_names_at, section_names.len() as u32, 0, 0, 1, 0],
    ];
    for word in entries.as_flattened() {
        file.extend(word.to_le_bytes());
    }
    file
}
