//! From the connection to the launch: what the adapter can do goes out, what is to be debugged comes in.

use pinion_app::error::{Error, Result};
use serde_json::{Value, json};

use super::wire::{Incoming, Request, Wire};
use super::{Launch, Launched, Launcher};
use crate::session::Ended;

/// How a connection began.
pub enum Greeted {
    /// With something to debug.
    Launched(Launch, Box<Launched>),
    /// It is over.
    Ended(Ended),
}

/// Speaks with an editor until something is launched.
pub fn greet(wire: &mut Wire, launcher: &mut Launcher<'_>) -> Result<Greeted> {
    let mut is_known = false;
    loop {
        let request = match wire.receive() {
            Incoming::Request(request) => request,
            Incoming::Foreign(why) => {
                if say(wire, &why).is_err() {
                    return Ok(Greeted::Ended(Ended::Lost { cycle: 0 }));
                }
                continue;
            }
            Incoming::End(None) => return Ok(Greeted::Ended(Ended::Lost { cycle: 0 })),
            Incoming::End(Some(why)) => return Err(not_understood(&why)),
        };
        let mut launched = None;
        let answer = match request.command.as_str() {
            "initialize" => {
                is_known = true;
                Ok(capabilities())
            }
            "disconnect" | "terminate" => Ok(Value::Null),
            _ if !is_known => Err("`initialize` comes first".to_owned()),
            "launch" => launch(&request, launcher).map(|done| {
                launched = Some(done);
                Value::Null
            }),
            "attach" => Err("there is nothing to attach to: pinion launches what it debugs, by a \
                             configuration with \"request\": \"launch\""
                .to_owned()),
            command => Err(format!("`{command}`: nothing is launched yet")),
        };
        if wire.answer(&request, answer).is_err() {
            return Ok(Greeted::Ended(Ended::Lost { cycle: 0 }));
        }
        if let Some((launch, launched)) = launched {
            return Ok(Greeted::Launched(launch, Box::new(launched)));
        }
        if matches!(request.command.as_str(), "disconnect" | "terminate") {
            return Ok(Greeted::Ended(Ended::ByUser));
        }
    }
}

/// Tells an editor that something that came is not understood.
pub fn say(wire: &mut Wire, why: &str) -> std::io::Result<()> {
    let text = format!("pinion: {why}\n");
    wire.tell("output", json!({ "category": "important", "output": text }))
}

/// Says that what came is another protocol.
pub fn not_understood(why: &str) -> Error {
    Error::Usage(format!("what came is not the Debug Adapter Protocol: {why}"))
}

fn launch(
    request: &Request,
    launcher: &mut Launcher<'_>,
) -> std::result::Result<(Launch, Launched), String> {
    let launch: Launch = serde_json::from_value(request.arguments.clone()).map_err(|error| {
        format!(
            "the launch configuration: {error}; it wants \"app\", an application's folder, and may \
             have \"args\", a list of further words of `pinion debug`, \"cwd\" and \"stopOnEntry\""
        )
    })?;
    let launched = launcher(&launch).map_err(|error| error.to_string())?;
    Ok((launch, launched))
}

/// Says what can be asked for.
fn capabilities() -> Value {
    let filter = |filter: &str, label: &str, description: &str, is_default: bool| {
        json!({
            "filter": filter, "label": label, "description": description, "default": is_default,
        })
    };
    json!({
        "supportsConfigurationDoneRequest": true,
        "supportsFunctionBreakpoints": true,
        "supportsInstructionBreakpoints": true,
        "supportsConditionalBreakpoints": true,
        "supportsHitConditionalBreakpoints": true,
        "supportsLogPoints": true,
        "supportsDataBreakpoints": true,
        "supportsDataBreakpointBytes": true,
        "supportsExceptionInfoRequest": true,
        "supportsStepBack": true,
        "supportsSteppingGranularity": true,
        "supportsSingleThreadExecutionRequests": true,
        "supportsEvaluateForHovers": true,
        "supportsReadMemoryRequest": true,
        "supportsDisassembleRequest": true,
        "exceptionBreakpointFilters": [
            filter("fault", "Faults", "Stop where a handler goes wrong", true),
            filter("drop", "Drops", "Stop where a packet is dropped", false),
        ],
    })
}
