//! A session: one gdb, from its connection to its end. It goes on turn by turn, so that whoever runs what is
//! debugged may do other things in between.

use std::io;
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use gdbstub::common::Signal;
use gdbstub::conn::ConnectionExt as _;
use gdbstub::stub::state_machine::GdbStubStateMachine as Machine;
use gdbstub::stub::{GdbStub, GdbStubError};
use pinion_app::error::{Error, Result};

use crate::console::Console;
use crate::stub::Debugged;
use crate::stub::wire::{Wire, is_lost};
use crate::{Timeline, Width};

/// Time between two looks at the connection while the run goes on.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Time between two turns while nothing comes.
const PATIENCE: Duration = Duration::from_secs(1);

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
    let mut session = begin(console, stream)?;
    loop {
        if let Some(ended) = session.turn(PATIENCE)? {
            return Ok(ended);
        }
    }
}

/// Begins a session on a connection.
///
/// # Errors
/// When the connection cannot be used.
pub fn begin(console: Console, stream: TcpStream) -> Result<Box<dyn Turns>> {
    Ok(match console.timeline.machine().width() {
        Width::Rv32 => Box::new(Session::<4>::begin(console, stream)?),
        Width::Rv64 => Box::new(Session::<8>::begin(console, stream)?),
    })
}

/// A session that goes on turn by turn.
pub trait Turns {
    /// Answers what gdb has sent; lets the run go on for a while if gdb wants it to, or else waits for
    /// gdb, for so long at most. Says how the session has ended, if it has.
    ///
    /// # Errors
    /// When the packets cannot be read, or gdb sends what is no protocol.
    fn turn(&mut self, patience: Duration) -> Result<Option<Ended>>;

    /// Gives the run.
    fn timeline(&mut self) -> &mut Timeline;

    /// Tells whether gdb wants the run to go on.
    fn goes_on(&self) -> bool;
}

/// A session with registers of so many bytes.
struct Session<const BYTES: usize> {
    debugged: Debugged<BYTES>,
    /// `None`: it is over.
    stub: Option<Stub<BYTES>>,
}

type Stub<const BYTES: usize> = Machine<'static, Debugged<BYTES>, Wire>;

/// What ends a session before its time.
enum Broken {
    Protocol(GdbStubError<Error, io::Error>),
    Connection(io::Error),
    Run(Error),
}

impl From<GdbStubError<Error, io::Error>> for Broken {
    fn from(error: GdbStubError<Error, io::Error>) -> Self {
        Self::Protocol(error)
    }
}

impl From<io::Error> for Broken {
    fn from(error: io::Error) -> Self {
        Self::Connection(error)
    }
}

impl<const BYTES: usize> Session<BYTES> {
    fn begin(console: Console, stream: TcpStream) -> Result<Self> {
        let mut debugged = Debugged::new(console);
        let stub = GdbStub::new(Wire::new(stream)).run_state_machine(&mut debugged);
        let unusable = |error| Error::Usage(format!("the connection to gdb failed: {error}"));
        Ok(Self { debugged, stub: Some(stub.map_err(unusable)?) })
    }

    /// Takes one step of the protocol; tells whether there was something to do.
    fn step(
        &mut self,
        stub: Stub<BYTES>,
        patience: Duration,
    ) -> std::result::Result<(Stub<BYTES>, bool), Broken> {
        let debugged = &mut self.debugged;
        match stub {
            Machine::Idle(mut stub) => {
                if !stub.borrow_conn().wait(patience)? {
                    return Ok((stub.into(), false));
                }
                let byte = stub.borrow_conn().read()?;
                Ok((stub.incoming_data(debugged, byte)?, true))
            }
            Machine::CtrlCInterrupt(stub) => {
                let stop = debugged.interrupt(Signal::SIGINT);
                Ok((stub.interrupt_handled(debugged, Some(stop))?, true))
            }
            Machine::Running(mut stub) => {
                debugged.turn_back(stub.borrow_conn().named());
                let arrival = debugged.console.timeline.advance(LOOK_EVERY).map_err(Broken::Run)?;
                let stop = arrival.map(|arrival| debugged.report(&arrival));
                let said = debugged.take_said();
                if !said.is_empty() {
                    stub.borrow_conn().print(&said)?;
                }
                if let Some(stop) = stop {
                    return Ok((stub.report_stop(debugged, stop)?, true));
                }
                // Nothing happens until something comes from outside.
                let rests = debugged.console.timeline.rests();
                let patience = if rests { patience } else { Duration::ZERO };
                if !stub.borrow_conn().wait(patience)? {
                    return Ok((stub.into(), false));
                }
                let byte = stub.borrow_conn().read()?;
                Ok((stub.incoming_data(debugged, byte)?, true))
            }
            over @ Machine::Disconnected(_) => Ok((over, false)),
        }
    }

    /// Says what a broken session ends with.
    fn end(&self, broken: Broken) -> Result<Ended> {
        let lost = || Ok(Ended::Lost { cycle: self.debugged.console.timeline.position().cycle });
        let failed =
            |text: String| Err(Error::Usage(format!("the connection to gdb failed: {text}")));
        match broken {
            Broken::Run(error) => Err(error),
            Broken::Connection(error) if is_lost(&error) => lost(),
            Broken::Connection(error) => failed(error.to_string()),
            Broken::Protocol(error) if error.is_connection_error() => {
                let text = error.to_string();
                match error.into_connection_error() {
                    Some((error, _)) if is_lost(&error) => lost(),
                    _ => failed(text),
                }
            }
            Broken::Protocol(error) if error.is_target_error() => {
                let target = error.into_target_error();
                Err(target.unwrap_or_else(|| Error::Usage("the run failed".to_owned())))
            }
            Broken::Protocol(error) => {
                Err(Error::Usage(format!("what came is not gdb's protocol: {error}")))
            }
        }
    }
}

impl<const BYTES: usize> Turns for Session<BYTES> {
    fn turn(&mut self, patience: Duration) -> Result<Option<Ended>> {
        let mut patience = patience;
        while let Some(stub) = self.stub.take() {
            let (stub, goes_on) = match self.step(stub, patience) {
                Ok(stepped) => stepped,
                Err(broken) => return self.end(broken).map(Some),
            };
            if matches!(stub, Machine::Disconnected(_)) {
                break;
            }
            self.stub = Some(stub);
            if !goes_on {
                return Ok(None);
            }
            // What is there already is answered in this turn, too.
            patience = Duration::ZERO;
        }
        Ok(Some(Ended::ByUser))
    }

    fn timeline(&mut self) -> &mut Timeline {
        &mut self.debugged.console.timeline
    }

    fn goes_on(&self) -> bool {
        matches!(self.stub, Some(Machine::Running(_)))
    }
}
