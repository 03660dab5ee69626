//! What the manifest promises: defaults as documented, every mistake with its place.

use super::*;

fn folder(name: &str, text: &str) -> PathBuf {
    let dir = std::env::temp_dir().join(format!("pinion-manifest-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join("app.c"), "").unwrap();
    std::fs::write(dir.join(FILE_NAME), text).unwrap();
    dir
}

const GOOD: &str = r#"[app]
name = "echo"
sources = ["app.c"]
defines = { DEPTH = 4, LOUD = true, QUIET = false, NAME = "x" }

[[context]]
name = "echo"
match = ["icmp.echo"]
payload = "echo_ph"
"#;

#[test]
fn defaults_are_the_documented_ones() {
    let manifest = load(&folder("defaults", GOOD)).unwrap();
    assert_eq!(manifest.app.defines, ["DEPTH=4", "LOUD=1", "NAME=x"]);
    let context = &manifest.contexts()[0];
    assert_eq!(context.handler_memory_bytes, 64 << 10);
    assert_eq!(context.host_memory_bytes, 1 << 20);
    assert_eq!(context.scratchpad_bytes, 4 << 10);
    assert_eq!(context.l1_bytes, None);
    assert_eq!(context.watchdog, Watchdog::Time(Duration { ps: 1_000_000_000 }));
    assert_eq!(
        (context.message, context.end_of_message),
        (MessageId::PerPacket, EndOfMessage::Always)
    );
    assert_eq!(manifest.app.machine, "pspin");
}

#[test]
fn watchdog_and_l1_bytes_take_numbers_and_texts() {
    let text = format!("{GOOD}watchdog = \"5000cycles\"\nl1_bytes = \"1KiB\"\n");
    let context = load(&folder("texts", &text)).unwrap().contexts()[0].clone();
    assert_eq!((context.watchdog, context.l1_bytes), (Watchdog::Cycles(5000), Some(1024)));
    let text = format!("{GOOD}watchdog = 0\nl1_bytes = 0\n");
    let context = load(&folder("numbers", &text)).unwrap().contexts()[0].clone();
    assert_eq!((context.watchdog, context.l1_bytes), (Watchdog::Cycles(0), Some(0)));
}

#[test]
fn a_machine_may_be_a_file_of_the_folder() {
    let machine = |name: &str| {
        let text = GOOD.replace("defines", &format!("machine = \"{name}\"\ndefines"));
        let manifest = load(&folder("machine", &text)).unwrap();
        let named = manifest.files().iter().any(|(key, _)| key == "app.machine");
        (manifest.app.machine, named)
    };
    let of_folder = |name: &str| folder("machine", GOOD).join(name).display().to_string();
    for path in ["mine.toml", "machines/mine.toml", "../mine"] {
        assert_eq!(machine(path), (of_folder(path), true));
    }
    assert_eq!(machine("/a/mine.toml"), ("/a/mine.toml".to_owned(), true));
    assert_eq!(machine("fpspin"), ("fpspin".to_owned(), false));
}

#[test]
fn standard_traffic_is_read() {
    let text = format!("{GOOD}\n[traffic]\ngenerate = \"icmp,size=98,count=7\"\n");
    let manifest = load(&folder("traffic", &text)).unwrap();
    assert_eq!(manifest.traffic.unwrap().generate.total_frames(), 7);
    assert_eq!(load(&folder("no_traffic", GOOD)).unwrap().traffic, None);
    let text = format!("{GOOD}\n[traffic]\ngenerate = \"icmp,sise=98\"\n");
    let error = load(&folder("bad_traffic", &text)).unwrap_err().to_string();
    assert!(error.contains("line 12,") && error.contains("did you mean `size`"), "{error}");
}

#[test]
fn every_mistake_has_its_place() {
    for (name, from, to, line, part) in [
        ("key", "payload =", "paylaod =", 9, "nearest valid key: `payload`"),
        ("rule", "icmp.echo", "icmp.eco", 8, "did you mean `icmp.echo`"),
        ("source", "\"app.c\"", "\"gone.c\"", 3, "there is no file"),
        ("kind", "\"app.c\"", "\"app.rs\"", 3, "neither C"),
        ("list", "[\"icmp.echo\"]", "\"icmp.echo\"", 8, "write match = [\"icmp.echo\"]"),
        ("number", "[\"icmp.echo\"]", "[7]", 8, "expected a list of rules"),
        ("type", "name = \"echo\"\nsources", "name = 4\nsources", 2, "expected a string"),
        ("name", "name = \"echo\"\nsources", "name = \"a b\"\nsources", 2, "is no name"),
        ("handler", "payload = \"echo_ph\"", "", 7, "no handler"),
        ("message", "payload =", "message = \"flow\"\npayload =", 9, "end_of_message is missing"),
        ("image", "payload =", "host_memory_image = \"x\"\npayload =", 9, "cannot read"),
        ("size", "payload =", "scratchpad = \"4 kb\"\npayload =", 9, "is not a size"),
        ("dog", "payload =", "watchdog = \"1 h\"\npayload =", 9, "is not a time"),
        ("mode", "payload =", "mode = \"xor\"\npayload =", 9, "unknown variant"),
    ] {
        let error = load(&folder(name, &GOOD.replace(from, to))).unwrap_err().to_string();
        assert!(error.contains(&format!("line {line},")), "{name}: {error}");
        assert!(error.contains(part), "{name}: {error}");
    }
}

#[test]
fn a_folder_without_manifest_names_the_file_it_looked_for() {
    let dir = folder("absent", GOOD);
    std::fs::remove_file(dir.join(FILE_NAME)).unwrap();
    let error = load(&dir).unwrap_err().to_string();
    assert!(error.contains("app.toml"), "{error}");
}

#[test]
fn sources_know_their_language() {
    for (name, expected) in [("a.cc", true), ("a.cpp", true), ("a.cxx", true), ("a.c", false)] {
        assert_eq!(is_cxx(Path::new(name)), expected, "{name}");
    }
}

#[test]
fn an_application_has_one_name_from_wherever_it_is_called() {
    let dir = folder("named", GOOD);
    std::fs::create_dir_all(dir.join("cluster/deeper")).unwrap();
    let beside = dir.join("cluster/deeper/../../..").join(dir.file_name().unwrap());
    for detour in [dir.join("cluster/.."), beside] {
        assert_eq!(load(&detour).unwrap().dir, dir, "{}", detour.display());
    }
}

#[cfg(unix)]
#[test]
fn behind_a_link_the_folder_above_is_another() {
    let (dir, other) = (folder("linked", GOOD), folder("linked-to", GOOD));
    std::fs::create_dir_all(other.join("inner")).unwrap();
    let link = dir.join("link");
    let _ = std::fs::remove_file(&link);
    std::os::unix::fs::symlink(other.join("inner"), &link).unwrap();
    assert_eq!(load(&link.join("..")).unwrap().dir, link.join(".."));
}
