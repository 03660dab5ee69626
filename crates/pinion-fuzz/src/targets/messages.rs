//! What other programs say: host programs to a NIC, editors to the debugger, and browsers to a live page.

use std::io::{Cursor, sink};
use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

use pinion_app::{Error, tape};
use pinion_dashboard::http::Request;
use pinion_debug::dap;
use pinion_nicd::nic::{Allowed, Options, replay};
use pinion_observe::report::Outputs;
use pinion_run::live::{Options as LiveOptions, WireName};
use pinion_run::watch::Unobserved;
use pinion_spin::Machine;

use super::{Target, folder, put, said};

pub const SOCKET: Target = Target::text("socket", socket, 150).words(&[
    "{\"message\":{\"from\":1,\"pid\":1,\"user\":0,\"program\":\"p\",\"kind\":2,\"body\":\"00\",\"image\":null}}\n",
    "{\"gone\":{\"from\":1}}\n",
    "\"stayed\"\n",
    "00000000",
    "ffffffff",
    "1d000000",
    "kind",
    "image",
]);
pub const EDITOR: Target = Target::text("editor", editor, 2000).words(&[
    "Content-Length: ",
    "\r\n\r\n",
    "\"type\":\"request\"",
    "\"command\":\"launch\"",
    "initialize",
    "\"seq\":",
    "arguments",
    "disconnect",
]);
pub const HTTP: Target = Target::text("http", http, 20_000).words(&[
    "GET /metrics?token=0123456789abcdef HTTP/1.1\r\n",
    "Host: 127.0.0.1:80\r\n",
    "Cookie: pinion-80=0123456789abcdef; a=b\r\n",
    "Authorization: Bearer 0123456789abcdef\r\n",
    "Origin: null\r\n",
    "\r\n\r\n",
    "POST",
]);

/// Messages as a recording has them, a line each: they are answered as those of a socket.
fn socket(input: &[u8]) -> String {
    let folder = folder();
    put(folder.path(), tape::HOST, input);
    let lines = String::from_utf8_lossy(input).lines().count() as u64;
    let rows: String = (0..lines).map(|line| format!("host,{line}\n")).collect();
    let steps = format!("what,value\n{rows}until,1000000\nuntil,20000000\n");
    put(folder.path(), tape::STEPS, steps.as_bytes());
    put(folder.path(), tape::FRAMES, &PCAP_HEADER);
    let options = Options {
        live: LiveOptions {
            wire: WireName::Nowhere,
            address: None,
            host_tap: None,
            bound: Duration::MAX,
            duration: None,
            faults: None,
            tape: None,
        },
        machine: machine().clone(),
        engine_core: Default::default(),
        device: "input".to_owned(),
        contexts: None,
        allowed: Allowed::default(),
        log_lines: 100,
    };
    said(replay(&options, folder.path(), &Outputs::default(), &mut Unobserved))
}

/// A capture without packets.
const PCAP_HEADER: [u8; 24] =
    [0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 1, 0, 0, 0];

fn machine() -> &'static Machine {
    static MACHINE: OnceLock<Machine> = OnceLock::new();
    MACHINE.get_or_init(|| {
        let loaded = pinion_app::machine::load("fpspin", &[], false);
        loaded.unwrap_or_else(|error| panic!("{error}")).value
    })
}

/// An editor that asks for a run which cannot be had: what it says until then, and behind.
fn editor(input: &[u8]) -> String {
    let mut launcher = |launch: &dap::Launch| {
        let is_there = Path::new(&launch.app).is_absolute();
        Err(Error::Usage(format!("no application: {is_there}")))
    };
    match dap::serve(Cursor::new(input.to_vec()), sink(), &mut launcher) {
        Ok(_) => "ended".to_owned(),
        Err(error) => error.to_string(),
    }
}

/// A request as it comes from a browser, or from somebody else's page in it.
fn http(input: &[u8]) -> String {
    match Request::read(&mut &*input) {
        Ok(Some(request)) => {
            let names = ["host", "origin", "cookie", "authorization", "sec-fetch-site"];
            let has = names.map(|name| request.header(name).map_or('-', |_| 'x'));
            format!("a request {}", has.iter().collect::<String>())
        }
        Ok(None) => "no request".to_owned(),
        Err(error) => error.to_string(),
    }
}
