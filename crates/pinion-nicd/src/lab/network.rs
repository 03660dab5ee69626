//! What is inside a lab's namespaces: a TAP device each, its address, and a permanent neighbour
//! entry for the other end, so that no ARP is needed. All of it by the tool `ip`, run inside.

use std::io::Write;
use std::process::{Command, Stdio};

use pinion_net::namespace;

use super::space::Space;
use super::{End, LabError};

/// The client's device: the wire of the NIC.
pub const CLIENT_TAP: &str = "pin0";
/// The client's address.
pub const CLIENT_ADDRESS: &str = "10.11.0.1";
/// The host's device: the NIC's host side.
pub const HOST_TAP: &str = "pinh0";
/// The host's address; what the NIC matches is sent to it as well.
pub const HOST_ADDRESS: &str = "10.11.0.2";

/// Bits of the network that both are in.
const PREFIX_BITS: u32 = 24;
/// Hardware addresses, locally administered.
const CLIENT_MAC: &str = "02:70:69:6e:00:01";
const HOST_MAC: &str = "02:70:69:6e:00:02";

/// One end's device.
struct Device {
    name: &'static str,
    mac: &'static str,
    address: &'static str,
}

/// Gives one end's device.
fn device(end: End) -> Device {
    match end {
        End::Client => Device { name: CLIENT_TAP, mac: CLIENT_MAC, address: CLIENT_ADDRESS },
        End::Host => Device { name: HOST_TAP, mac: HOST_MAC, address: HOST_ADDRESS },
    }
}

/// Names the device of one end.
pub fn tap_of(end: End) -> &'static str {
    device(end).name
}

/// Runs `ip` in this thread's namespace, with lines for its `-batch -`. What it writes is the
/// result: `Err` when it refused.
pub fn ip(arguments: &[&str], lines: &str) -> Result<Result<String, String>, LabError> {
    let no_tool = |source| LabError::NoTool { source };
    let mut child = Command::new("ip")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(no_tool)?;
    if let Some(mut input) = child.stdin.take() {
        // An `ip` that has given up says why itself.
        let _ = input.write_all(lines.as_bytes());
    }
    let done = child.wait_with_output().map_err(no_tool)?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().replace('\n', "; ");
    Ok(match done.status.success() {
        true => Ok(text(&done.stdout)),
        false => Err(text(&done.stderr)),
    })
}

/// Runs `ip` inside a namespace.
pub fn ip_inside(
    space: &Space,
    arguments: &[&str],
    lines: &str,
) -> Result<Result<String, String>, LabError> {
    let path = space.path();
    namespace::inside(&path, || ip(arguments, lines))
        .map_err(|source| LabError::Enter { path, source })?
}

/// Makes one end's device and all that belongs to it.
pub fn set_up(end: End, space: &Space) -> Result<(), LabError> {
    let Device { name, mac, address } = device(end);
    let other = device(match end {
        End::Client => End::Host,
        End::Host => End::Client,
    });
    let made = ip_inside(space, &["tuntap", "add", "dev", name, "mode", "tap"], "")?;
    made.map_err(|output| LabError::NoTap { space: space.name.clone(), output })?;
    // Without an IPv6 address the device stays silent until somebody sends.
    let lines = format!(
        "link set dev lo up\n\
         link set dev {name} address {mac} addrgenmode none\n\
         address add {address}/{PREFIX_BITS} dev {name}\n\
         link set dev {name} up\n\
         neighbour replace {} lladdr {} nud permanent dev {name}\n",
        other.address, other.mac
    );
    ip_inside(space, &["-batch", "-"], &lines)?
        .map(|_| ())
        .map_err(|output| LabError::Refused { space: space.name.clone(), output })
}

/// Removes the device of a namespace, so that a process that is still inside has no network.
pub fn take_down(space: &Space) {
    for end in End::BOTH {
        // The other end's device is not here, and one that is gone need not be removed.
        let _ = ip_inside(space, &["link", "delete", "dev", device(end).name], "");
    }
}
