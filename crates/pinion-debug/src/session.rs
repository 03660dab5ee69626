//! A session: one gdb, from its connection to its end.

use std::io;
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use gdbstub::common::Signal;
use gdbstub::conn::ConnectionExt as _;
use gdbstub::stub::run_blocking::{BlockingEventLoop, Event, WaitForStopReasonError};
use gdbstub::stub::{DisconnectReason, GdbStub};
use pinion_app::error::{Error, Result};

use crate::Width;
use crate::console::Console;
use crate::stub::wire::{Wire, is_lost};
use crate::stub::{Debugged, StopReason};

/// Time between two looks at the connection while the run goes on.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Says how a session ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The debugger's user has ended it.
    ByUser,
    /// The connection was lost in this cycle.
    Lost {
        /// The cycle.
        cycle: u64,
    },
}

/// Begins to listen for gdb.
///
/// # Errors
/// When nobody can listen there, with what to do.
pub fn listen(address: &str) -> Result<TcpListener> {
    TcpListener::bind(address).map_err(|error| {
        let what = match error.kind() {
            io::ErrorKind::AddrInUse => {
                "the port is in use: give another one, or port 0 for any that is free".to_owned()
            }
            io::ErrorKind::InvalidInput | io::ErrorKind::AddrNotAvailable => {
                "write it as ADDRESS:PORT with an address of this computer, as in 127.0.0.1:3333"
                    .to_owned()
            }
            _ => format!("{error}; write it as ADDRESS:PORT, as in 127.0.0.1:3333"),
        };
        Error::Usage(format!("cannot listen on {address}: {what}"))
    })
}

/// Serves gdb on a connection until it ends the session.
///
/// # Errors
/// When the packets cannot be read, or gdb sends what is no protocol.
pub fn serve(console: Console, stream: TcpStream) -> Result<Ended> {
    match console.timeline.machine().width() {
        Width::Rv32 => serve_width::<4>(console, stream),
        Width::Rv64 => serve_width::<8>(console, stream),
    }
}

fn serve_width<const BYTES: usize>(console: Console, stream: TcpStream) -> Result<Ended> {
    let mut debugged = Debugged::<BYTES>::new(console);
    let stub = GdbStub::new(Wire::new(stream));
    match stub.run_blocking::<Loop<BYTES>>(&mut debugged) {
        Ok(DisconnectReason::Disconnect | DisconnectReason::Kill) => Ok(Ended::ByUser),
        Ok(_) => Ok(Ended::ByUser),
        Err(error) if error.is_connection_error() => {
            let text = error.to_string();
            match error.into_connection_error() {
                Some((error, _)) if is_lost(&error) => {
                    Ok(Ended::Lost { cycle: debugged.console.timeline.position().cycle })
                }
                _ => Err(Error::Usage(format!("the connection to gdb failed: {text}"))),
            }
        }
        Err(error) if error.is_target_error() => {
            let target = error.into_target_error();
            Err(target.unwrap_or_else(|| Error::Usage("the run failed".to_owned())))
        }
        Err(error) => Err(Error::Usage(format!("what came is not gdb's protocol: {error}"))),
    }
}

/// Lets the run go on, with a look at the connection now and then.
enum Loop<const BYTES: usize> {}

impl<const BYTES: usize> BlockingEventLoop for Loop<BYTES> {
    type Target = Debugged<BYTES>;
    type Connection = Wire;
    type StopReason = StopReason;

    fn wait_for_stop_reason(
        debugged: &mut Debugged<BYTES>,
        wire: &mut Wire,
    ) -> std::result::Result<Event<StopReason>, WaitForStopReasonError<Error, io::Error>> {
        use WaitForStopReasonError::{Connection, Target};
        debugged.turn_back(wire.named());
        loop {
            let arrival = debugged.console.timeline.advance(LOOK_EVERY).map_err(Target)?;
            let stop = arrival.map(|arrival| debugged.report(&arrival));
            let said = debugged.take_said();
            if !said.is_empty() {
                wire.print(&said).map_err(Connection)?;
            }
            if let Some(stop) = stop {
                return Ok(Event::TargetStopped(stop));
            }
            if wire.peek().map_err(Connection)?.is_some() {
                return wire.read().map(Event::IncomingData).map_err(Connection);
            }
        }
    }

    fn on_interrupt(debugged: &mut Debugged<BYTES>) -> Result<Option<StopReason>> {
        Ok(Some(debugged.interrupt(Signal::SIGINT)))
    }
}
