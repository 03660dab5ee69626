//! What a debugger sends, and what its user asks for in words.

use std::io::{Write as _, copy, sink};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::time::Duration;

use pinion_app::app::{App, Options};
use pinion_app::traffic::Packets;
use pinion_debug::Timeline;
use pinion_debug::console::Console;
use pinion_debug::session;

use super::{Target, folder, put};

pub const GDB: Target = Target {
    mend: Some(mend),
    ..Target::bytes("gdb", gdb, 100).words(&[
        "$qSupported:multiprocess+;swbreak+;xmlRegisters=riscv#00",
        "$?#00",
        "$Hgp1.1#00",
        "$g#00",
        "$G00000000#00",
        "$p20#00",
        "$P5=01000000#00",
        "$m1c000000,40#00",
        "$mffffffff,ffff#00",
        "$M1c000000,4:00000000#00",
        "$X1c000000,1:a#00",
        "$Z0,1c000000,2#00",
        "$z0,1c000000,2#00",
        "$Z2,1c000000,ffffffffffffffff#00",
        "$vCont;c#00",
        "$vCont;s:p1.1;c#00",
        "$vCont;s:p1.fff#00",
        "$Hgp1.fff#00",
        "$vCont;r1c000000,1c000100:p1.1#00",
        "$bc#00",
        "$bs#00",
        "$qXfer:features:read:target.xml:0,ffb#00",
        "$qXfer:threads:read::0,ffb#00",
        "$qRcmd,756e697473#00",
        "$vAttach;1#00",
        "$D;1#00",
        "\x03",
        "+",
    ])
};
pub const CONSOLE: Target = Target::text("console", console, 100).words(&[
    "cycle", "units", "queues", "packets", "why", "packet", "message", "host", "break", "delete",
    "goto", "context", "all+0", "command", "fault", "drop", "send", "0", "\n",
]);

/// Looks at a session's connection at most, so that a run that goes on ends.
const TURNS: u32 = 40;
const PATIENCE: Duration = Duration::from_millis(20);

/// A run of a few packets.
fn begun() -> Console {
    let folder = folder();
    let elf = crate::seeds::root().join("tests/calibration/pspin/elf/words.elf");
    let manifest = format!(
        "[app]\nname = \"words\"\nelf = {elf:?}\n[[context]]\nname = \"all\"\nmatch = [\"udp\"]\n\
         payload = \"reduce\"\nhost_memory = \"4KiB\"\n"
    );
    put(folder.path(), "app.toml", manifest.as_bytes());
    let app = App::load(folder.path(), &Options::default());
    let app = app.unwrap_or_else(|error| panic!("{error}"));
    let packets = Packets::generate("udp,size=64,count=3", None, None);
    let timeline = packets.and_then(|packets| Timeline::new(&app, packets));
    let why = Box::new(|_| Ok("why".to_owned()));
    Console::new(timeline.unwrap_or_else(|error| panic!("{error}")), why)
}

/// A debugger that sends its packets whatever is answered.
fn gdb(input: &[u8]) -> String {
    let (here, mut there) = connection().unwrap_or_else(|error| panic!("no connection: {error}"));
    std::thread::scope(|scope| {
        scope.spawn(move || {
            // Who has been sent away is not listened to.
            let _ = there.write_all(input).and_then(|()| there.shutdown(Shutdown::Write));
            let _ = copy(&mut there, &mut sink());
        });
        let mut session = match session::begin(begun(), here) {
            Ok(session) => session,
            Err(error) => return error.to_string(),
        };
        for _ in 0..TURNS {
            match session.turn(PATIENCE) {
                Ok(None) => {}
                Ok(Some(ended)) => return format!("ended {ended:?}"),
                Err(error) => return error.to_string(),
            }
        }
        "goes on".to_owned()
    })
}

fn connection() -> std::io::Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let there = TcpStream::connect(listener.local_addr()?)?;
    Ok((listener.accept()?.0, there))
}

/// Gives every packet the checksum that it wants.
fn mend(input: &mut [u8]) {
    let mut from = 0;
    for at in 0..input.len() {
        match input[at] {
            b'$' => from = at + 1,
            b'#' if at + 2 < input.len() => {
                let sum = input[from..at].iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
                input[at + 1..at + 3].copy_from_slice(format!("{sum:02x}").as_bytes());
            }
            _ => {}
        }
    }
}

/// What is asked for, a line each; where that leads.
fn console(input: &[u8]) -> String {
    let (mut console, mut last) = (begun(), String::new());
    for line in String::from_utf8_lossy(input).lines().take(30) {
        let words: Vec<&str> = line.split_whitespace().collect();
        last = console.obey(&words).unwrap_or_else(|why| why);
        if console.run_errand() {
            for _ in 0..3 {
                if let Ok(Some(arrival)) = console.timeline.advance(PATIENCE) {
                    last.push_str(&console.words_of(&arrival));
                    break;
                }
            }
            console.timeline.stop();
            console.forget_errand();
        }
    }
    last
}
