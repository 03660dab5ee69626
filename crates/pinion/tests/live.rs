//! A live run from outside: the kernel pings the NIC through a TAP device. Needs root, TAP devices,
//! `ping` and a compiler; says so and passes where one is missing.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const DEVICE: &str = "pinion-test0";

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn succeeds(command: &str, arguments: &[&str]) -> bool {
    let output = Command::new(command).args(arguments).output();
    output.is_ok_and(|output| output.status.success())
}

fn what_is_missing() -> Option<&'static str> {
    let user = Command::new("id").arg("-u").output();
    let is_root = user.is_ok_and(|output| output.stdout.starts_with(b"0\n"));
    [
        ("root", is_root),
        ("/dev/net/tun", Path::new("/dev/net/tun").exists()),
        ("ping", succeeds("ping", &["-V"])),
        ("riscv64-unknown-elf-gcc", succeeds("riscv64-unknown-elf-gcc", &["--version"])),
    ]
    .into_iter()
    .find_map(|(name, there)| (!there).then_some(name))
}

/// Starts a live run and waits until the device is there.
fn up(elf: &Path) -> Option<Child> {
    let repository = repository();
    let mut child = Command::new(env!("CARGO_BIN_EXE_pinion"))
        .arg("up")
        .arg(repository.join("examples/icmp_echo"))
        .args(["--tap", DEVICE, "--address", "10.254.77.1/24", "--elf"])
        .arg(elf)
        .env("PINION_SDK", repository.join("sdk"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let start = Instant::now();
    while !Path::new("/sys/class/net").join(DEVICE).exists() {
        if let Some(status) = child.try_wait().unwrap() {
            let mut text = String::new();
            child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
            assert_eq!(status.code(), Some(2), "{text}");
            eprintln!("no TAP device can be made here, nothing tested: {text}");
            return None;
        }
        assert!(start.elapsed() < Duration::from_secs(20), "the device never came");
        std::thread::sleep(Duration::from_millis(20));
    }
    Some(child)
}

#[test]
fn the_kernel_pings_the_nic() {
    if let Some(missing) = what_is_missing() {
        eprintln!("{missing} is missing, nothing tested");
        return;
    }
    let elf = std::env::temp_dir().join(format!("pinion-live-{}.elf", std::process::id()));
    let built = Command::new(env!("CARGO_BIN_EXE_pinion"))
        .arg("build")
        .arg(repository().join("examples/icmp_echo"))
        .arg("--out")
        .arg(&elf)
        .env("PINION_SDK", repository().join("sdk"))
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let Some(child) = up(&elf) else { return };
    std::thread::sleep(Duration::from_millis(300));
    let ping = Command::new("ping")
        .args(["-c", "10", "-i", "0.05", "-W", "5", "10.254.77.2"])
        .output()
        .unwrap();
    let interrupted = succeeds("kill", &["-INT", &child.id().to_string()]);
    let output = child.wait_with_output().unwrap();
    for suffix in ["elf", "ld", "stamp"] {
        let _ = std::fs::remove_file(elf.with_extension(suffix));
    }
    let ping = String::from_utf8_lossy(&ping.stdout).into_owned();
    let summary = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(interrupted && output.status.success(), "{summary}");
    assert!(ping.contains("10 received"), "{ping}{summary}");
    let fastest = ping.lines().last().and_then(|line| line.split(['=', '/']).nth(4));
    let fastest_ms: f64 = fastest.and_then(|text| text.trim().parse().ok()).unwrap();
    assert!(fastest_ms < 1.0, "{ping}");
    assert!(summary.contains("HER to completion"), "{summary}");
    assert!(summary.contains("times slower than the hardware"), "{summary}");
    assert!(summary.contains("ARP requests answered"), "{summary}");
}
