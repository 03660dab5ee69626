//! A TAP device in a network namespace of its own, so that nothing outside is touched. Needs root;
//! otherwise says that it was skipped.

use super::*;
use crate::frame::{
    ArpMessage, Content, Endpoints, build_arp_reply, build_udp_frame, parse, verify_checksums,
};
use nix::sched::{CloneFlags, unshare};
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::time::Instant;

/// Runs a test on a thread with a network namespace of its own; skips it without the right.
fn in_own_network(test: fn()) {
    let run = move || {
        if let Err(reason) = unshare(CloneFlags::CLONE_NEWNET) {
            return skipped(&format!("a network namespace of its own needs root ({reason})"));
        }
        if !std::path::Path::new(DOOR).exists() {
            return skipped(&format!("{DOOR} is missing"));
        }
        test();
    };
    std::thread::spawn(run).join().unwrap();
}

/// Says so on standard error itself, where the test harness does not hide it.
fn skipped(reason: &str) {
    let _ = writeln!(io::stderr(), "SKIPPED a TAP test: {reason}");
}

fn address(text: &str) -> Option<InterfaceAddress> {
    Some(text.parse().unwrap())
}

/// Reads frames until one is wanted; the kernel also sends some of its own accord.
fn read_until<T>(tap: &mut Tap, wanted: impl Fn(&[u8]) -> Option<T>) -> T {
    let mut buffer = vec![0; tap.max_frame_bytes()];
    let deadline = Instant::now() + Duration::from_secs(5);
    while Instant::now() < deadline {
        tap.wait(Some(Duration::from_millis(100))).unwrap();
        while let Some(bytes) = tap.read(&mut buffer).unwrap() {
            if let Some(found) = wanted(&buffer[..bytes]) {
                return found;
            }
        }
    }
    panic!("the frame did not come");
}

#[test]
fn the_kernel_and_the_other_end_talk() {
    in_own_network(|| {
        let mut tap = Tap::open("pin0", address("10.11.0.1/24")).unwrap();
        assert_eq!(tap.name(), "pin0");
        assert!(tap.max_frame_bytes() > 9018, "the MTU may be raised later");
        let socket = UdpSocket::bind("10.11.0.1:4000").unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        socket.send_to(b"hello", "10.11.0.2:9330").unwrap();
        let asked: ArpMessage = read_until(&mut tap, |frame| match parse(frame).ok()?.content {
            Content::Arp(message) if message.is_request => Some(message),
            _ => None,
        });
        assert_eq!(asked.target, Ipv4Addr::new(10, 11, 0, 2));
        let mut ends = Endpoints::between(asked.target, asked.sender);
        ends.dst_mac = tap.mac();
        assert!(tap.write(&build_arp_reply(&ends)).unwrap());
        let payload = read_until(&mut tap, |frame| match parse(frame).ok()?.content {
            Content::Udp { dst_port: 9330, payload, .. } => Some(payload.to_vec()),
            _ => None,
        });
        assert_eq!(payload, b"hello");
        let answer = build_udp_frame(&ends, 9330, 4000, b"answer").unwrap();
        assert!(verify_checksums(&answer).is_ok() && tap.write(&answer).unwrap());
        let mut buffer = [0; 100];
        let (bytes, from) = socket.recv_from(&mut buffer).unwrap();
        assert_eq!(
            (&buffer[..bytes], from.to_string().as_str()),
            (&b"answer"[..], "10.11.0.2:9330")
        );
    });
}

#[test]
fn waiting_ends_when_the_time_is_over() {
    in_own_network(|| {
        let mut tap = Tap::open("pin1", None).unwrap();
        let mut buffer = [0; 2000];
        while tap.wait(Some(Duration::from_millis(300))).unwrap() {
            while tap.read(&mut buffer).unwrap().is_some() {} // the kernel's own frames
        }
        let start = Instant::now();
        let ready = tap.wait(Some(Duration::from_micros(20_500))).unwrap();
        assert!(ready || start.elapsed() >= Duration::from_micros(20_500));
        assert!(matches!(tap.write(&[0; 13]), Err(TapError::NotAFrame { bytes: 13 })));
    });
}

#[test]
fn what_is_in_the_way_is_named() {
    in_own_network(|| {
        let first = Tap::open("pin2", address("10.11.0.1/24")).unwrap();
        let busy = Tap::open("pin2", None).unwrap_err().to_string();
        assert!(busy.contains("in use by another process"), "{busy}");
        let loopback = Tap::open("lo", None).unwrap_err().to_string();
        assert!(loopback.contains("is no TAP device"), "{loopback}");
        let interface = Interface::new("pin2").unwrap();
        assert_eq!(interface.address().unwrap(), address("10.11.0.1/24"));
        drop(first);
        assert!(interface.address().is_err(), "the device goes away with its user");
    });
}

#[test]
fn a_device_prepared_beforehand_keeps_its_address() {
    in_own_network(|| {
        let first = Tap::open("pin3", address("10.11.0.1/24")).unwrap();
        // SAFETY: the descriptor is open, and this request takes a plain number.
        let kept = unsafe { libc::ioctl(first.file.as_raw_fd(), libc::TUNSETPERSIST, 1) };
        assert_eq!(kept, 0);
        drop(first);
        assert!(Tap::open("pin3", address("10.11.0.1/24")).is_ok());
        let other = Tap::open("pin3", address("10.12.0.1/16")).unwrap_err().to_string();
        assert!(other.contains("has the address 10.11.0.1/24 already"), "{other}");
    });
}

#[test]
fn without_the_right_it_says_what_to_run() {
    in_own_network(|| {
        // SAFETY: plain numbers; the raw call changes this thread alone, which ends with the test.
        let gave_up = unsafe { libc::syscall(libc::SYS_setresuid, 65534, 65534, 65534) };
        assert_eq!(gave_up, 0);
        let error = Tap::open("pin4", address("10.11.0.1/24")).unwrap_err().to_string();
        for part in ["`sudo`", "ip tuntap add dev pin4 mode tap user $USER", "--pcap-in", "/24"] {
            assert!(error.contains(part), "{error}");
        }
        // A prepared device helps only those who may open the door.
        let is_shut = door_mode().is_some_and(|mode| mode & 0o006 != 0o006);
        assert_eq!(error.contains("sudo chmod 0666 /dev/net/tun"), is_shut, "{error}");
    });
}

#[test]
fn a_door_that_is_shut_is_named_with_its_mode() {
    let denied = || io::Error::from_raw_os_error(libc::EACCES);
    let error = TapError::at_door("pin5", address("10.11.0.1/24"), Some(0o600), denied());
    let text = error.to_string();
    for part in ["/dev/net/tun", "mode 0600", "`sudo chmod 0666 /dev/net/tun && sudo ip tuntap"] {
        assert!(text.contains(part), "{text}");
    }
    let other = TapError::at_door("pin5", None, None, denied());
    assert!(matches!(other, TapError::Permission { .. }), "{other}");
}

#[test]
fn names_and_addresses_are_checked_before_anything_is_opened() {
    for name in ["", "sixteen-letters-", "a b", "a/b", "pin%d", ".."] {
        assert!(matches!(Tap::open(name, None), Err(TapError::BadName { .. })), "{name}");
    }
    for text in ["10.0.0.1/33", "10.0.0.1/0", "10.0.0/8", "x", "10.0.0.1/", ""] {
        let error = text.parse::<InterfaceAddress>().unwrap_err().to_string();
        assert!(error.contains("10.11.0.1/24"), "{error}");
    }
    assert_eq!("10.0.0.1".parse::<InterfaceAddress>().unwrap().to_string(), "10.0.0.1/24");
}
