//! A session with something launched: requests come in one after the other, and while the run goes on
//! between its pieces.

use std::io;
use std::time::Duration;

use pinion_app::error::Error;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::Launch;
use super::breakpoints::Breakpoints;
use super::greeting::{not_understood, say};
use super::stepping::Stepper;
use super::variables::Handles;
use super::wire::{Incoming, Request, Wire};
use crate::console::Console;
use crate::session::Ended;
use crate::symbols::Symbols;

/// Time between two looks at the connection while the run goes on.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// What a request is answered: a body, or what is wrong.
pub type Answer = Result<Value, String>;

/// What a run does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It has not begun: the editor still says where to stop.
    Configuring,
    /// It stands.
    Stopped,
    /// It goes on, or back.
    Running {
        /// Whether on.
        forward: bool,
    },
}

/// What ends a session before its time.
pub enum Trouble {
    /// Nobody is there any more.
    Lost,
    /// The run, or what came.
    Failed(Error),
}

impl From<io::Error> for Trouble {
    fn from(_: io::Error) -> Self {
        Self::Lost
    }
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// A run as an editor sees it.
pub struct Session<'s, 'a> {
    pub console: Console,
    pub symbols: &'s Symbols<'a>,
    pub wire: Wire,
    /// Addresses at which handlers begin.
    pub entries: Vec<u64>,
    pub state: State,
    pub breakpoints: Breakpoints,
    pub handles: Handles,
    pub stepper: Option<Stepper>,
    /// The hart whose stops alone count.
    pub only: Option<u32>,
    pub is_at_end: bool,
    pub stops_on_entry: bool,
    pub stops_nowhere: bool,
    /// How a handler went wrong where the run stands.
    pub wrong: Option<String>,
    /// Events that are told behind the answer.
    pub behind: Vec<(&'static str, Value)>,
    is_over: bool,
}

/// Reads what a request says.
///
/// # Errors
/// When something is missing, or is not what it should be.
pub fn read<T: DeserializeOwned>(arguments: Value) -> Result<T, String> {
    serde_json::from_value(arguments).map_err(|error| format!("the request's arguments: {error}"))
}

impl<'s, 'a> Session<'s, 'a> {
    pub fn new(
        console: Console,
        symbols: &'s Symbols<'a>,
        wire: Wire,
        entries: Vec<u64>,
        launch: &Launch,
    ) -> Self {
        Self {
            console,
            symbols,
            wire,
            entries,
            state: State::Configuring,
            breakpoints: Breakpoints::default(),
            handles: Handles::default(),
            stepper: None,
            only: None,
            is_at_end: false,
            stops_on_entry: launch.stop_on_entry,
            stops_nowhere: launch.no_debug,
            wrong: None,
            behind: Vec::new(),
            is_over: false,
        }
    }

    /// Answers requests until the session is over.
    ///
    /// # Errors
    /// When the packets cannot be read, or what comes is no protocol.
    pub fn run(mut self, notices: Vec<String>) -> pinion_app::error::Result<Ended> {
        match self.converse(notices) {
            Ok(ended) => Ok(ended),
            Err(Trouble::Lost) => Ok(self.lost()),
            Err(Trouble::Failed(error)) => {
                // The editor shows it; what it does not show stands on standard error.
                let _ = say(&mut self.wire, &error.to_string());
                let _ = self.wire.tell("terminated", json!({}));
                Err(error)
            }
        }
    }

    fn lost(&self) -> Ended {
        Ended::Lost { cycle: self.console.timeline.position().cycle }
    }

    fn converse(&mut self, notices: Vec<String>) -> Result<Ended, Trouble> {
        for notice in notices {
            self.print("console", &format!("{notice}\n"))?;
        }
        self.wire.tell("initialized", json!({}))?;
        while !self.is_over {
            let incoming = match self.state {
                State::Running { .. } => {
                    self.advance()?;
                    match self.wire.look() {
                        Some(incoming) => incoming,
                        None => continue,
                    }
                }
                _ => self.wire.receive(),
            };
            match incoming {
                Incoming::Request(request) => self.serve(&request)?,
                Incoming::Foreign(why) => say(&mut self.wire, &why)?,
                Incoming::End(None) => return Ok(self.lost()),
                Incoming::End(Some(why)) => return Err(Trouble::Failed(not_understood(&why))),
            }
        }
        Ok(Ended::ByUser)
    }

    /// Lets the run go on for a while.
    fn advance(&mut self) -> Result<(), Trouble> {
        let arrival = self.console.timeline.advance(LOOK_EVERY)?;
        let printed = self.console.timeline.take_printed();
        self.print("stdout", &printed)?;
        match arrival {
            Some(arrival) => self.arrived(&arrival),
            None => Ok(()),
        }
    }

    pub fn print(&mut self, category: &str, text: &str) -> Result<(), Trouble> {
        if !text.is_empty() {
            self.wire.tell("output", json!({ "category": category, "output": text }))?;
        }
        Ok(())
    }

    fn serve(&mut self, request: &Request) -> Result<(), Trouble> {
        let answer = self.answer(&request.command, request.arguments.clone());
        self.wire.answer(request, answer)?;
        for (event, body) in std::mem::take(&mut self.behind) {
            self.wire.tell(event, body)?;
        }
        Ok(())
    }

    fn answer(&mut self, command: &str, arguments: Value) -> Answer {
        match command {
            "initialize" => Err("it is initialized already".to_owned()),
            "launch" | "attach" => {
                Err("something is launched already: end this session first".to_owned())
            }
            "configurationDone" => self.configured(),
            "disconnect" | "terminate" => {
                self.is_over = true;
                Ok(Value::Null)
            }
            "setBreakpoints" => self.set_breakpoints(arguments),
            "setFunctionBreakpoints" => self.set_function_breakpoints(arguments),
            "setInstructionBreakpoints" => self.set_instruction_breakpoints(arguments),
            "setExceptionBreakpoints" => self.set_exception_breakpoints(arguments),
            "setDataBreakpoints" => self.set_data_breakpoints(arguments),
            "threads" => Ok(self.threads()),
            "pause" => self.pause(),
            "disassemble" => self.disassemble(arguments),
            _ => self.answer_at_a_stop(command, arguments),
        }
    }

    /// Answers what wants the run to stand.
    fn answer_at_a_stop(&mut self, command: &str, arguments: Value) -> Answer {
        type Asked<'s, 'a> = fn(&mut Session<'s, 'a>, Value) -> Answer;
        let asked: Asked<'s, 'a> = match command {
            "continue" => Self::go_on,
            "reverseContinue" => Self::go_back,
            "next" => Self::next,
            "stepIn" => Self::step_in,
            "stepOut" => Self::step_out,
            "stepBack" => Self::step_back,
            "stackTrace" => Self::stack_trace,
            "scopes" => Self::scopes,
            "variables" => Self::variables,
            "evaluate" => Self::evaluate,
            "readMemory" => Self::read_memory,
            "dataBreakpointInfo" => Self::data_breakpoint_info,
            "exceptionInfo" => Self::exception_info,
            _ => return Err(format!("`{command}` is no request that pinion answers")),
        };
        match self.state {
            State::Stopped => asked(self, arguments),
            State::Configuring => {
                Err(format!("`{command}`: the run has not begun; `configurationDone` begins it"))
            }
            State::Running { .. } => Err(format!("`{command}`: the run goes on; `pause` stops it")),
        }
    }
}
