//! The run goes on, or back, until something stops it; and what the editor is told of it.

use serde::Deserialize;
use serde_json::{Value, json};

use super::clauses::Verdict;
use super::requests::{Answer, Session, State, Trouble, read};
use super::stepping::Decision;
use crate::hunt::Reason;
use crate::{Arrival, Goal};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Thread {
    thread_id: u64,
    #[serde(default)]
    single_thread: bool,
}

impl Session<'_, '_> {
    /// Begins the run: the editor has said where to stop.
    pub fn configured(&mut self) -> Answer {
        if self.state != State::Configuring {
            return Err("the run has begun already".to_owned());
        }
        self.state = State::Stopped;
        if self.stops_nowhere {
            self.breakpoints = super::breakpoints::Breakpoints::default();
            self.console.timeline.conditions.events.clear();
            self.console.timeline.conditions.watchpoints.clear();
        }
        match self.stops_on_entry {
            true => {
                let stop = self.stop("entry", None, json!({}));
                self.behind.push(("stopped", stop));
            }
            false => self.go(true, Goal::Condition, None, &[]),
        }
        Ok(Value::Null)
    }

    pub fn go_on(&mut self, arguments: Value) -> Answer {
        let only = self.only(arguments)?;
        if self.is_at_end && !self.console.has_errand() {
            self.behind.push(("exited", json!({ "exitCode": 0 })));
            self.behind.push(("terminated", json!({})));
            return Ok(json!({ "allThreadsContinued": true }));
        }
        match self.console.run_errand() {
            true => self.state = State::Running { forward: true },
            false => self.go(true, Goal::Condition, only, &[]),
        }
        self.handles.clear();
        Ok(json!({ "allThreadsContinued": only.is_none() }))
    }

    pub fn go_back(&mut self, arguments: Value) -> Answer {
        let only = self.only(arguments)?;
        self.go(false, Goal::Condition, only, &[]);
        Ok(Value::Null)
    }

    /// Reads whose stops alone count.
    fn only(&self, arguments: Value) -> Result<Option<u32>, String> {
        let Thread { thread_id, single_thread } = read(arguments)?;
        let hart = self.hart(thread_id)?;
        Ok(single_thread.then_some(hart))
    }

    /// Finds the hart of a thread.
    pub fn hart(&self, thread: u64) -> Result<u32, String> {
        let count = u64::from(self.console.timeline.harts());
        match (1..=count).contains(&thread) {
            true => Ok(thread as u32 - 1),
            false => Err(format!("there is no thread {thread}, but 1 to {count}")),
        }
    }

    /// Begins to go, with further breakpoints until it has arrived.
    pub fn go(&mut self, forward: bool, goal: Goal, only: Option<u32>, further: &[u64]) {
        self.handles.clear();
        self.wrong = None;
        self.is_at_end = false;
        let own = self.breakpoints.addresses();
        let all = own.iter().chain(further).copied().collect();
        self.console.timeline.conditions.breakpoints = all;
        self.console.timeline.begin(forward, goal, only, None);
        self.console.timeline.conditions.breakpoints = own;
        self.only = only;
        self.state = State::Running { forward };
    }

    /// Goes on as before a stop that nobody wants.
    fn go_past(&mut self) {
        if let Some(stepper) = self.stepper.take() {
            self.set_out_again(&stepper);
            self.stepper = Some(stepper);
        } else if let State::Running { forward } = self.state {
            self.go(forward, Goal::Condition, self.only, &[]);
        }
    }

    /// Takes changed breakpoints over; going back, from the next stop on.
    pub fn conditions_changed(&mut self) {
        self.console.timeline.conditions.breakpoints = self.breakpoints.addresses();
        if self.state == (State::Running { forward: true }) && self.stepper.is_none() {
            self.console.timeline.stop();
            self.go(true, Goal::Condition, None, &[]);
        }
    }

    pub fn pause(&mut self) -> Answer {
        if !matches!(self.state, State::Running { .. }) {
            return Err("the run stands already".to_owned());
        }
        self.console.timeline.stop();
        self.console.forget_errand();
        self.stepper = None;
        let stop = self.stop("pause", None, json!({}));
        self.behind.push(("stopped", stop));
        Ok(Value::Null)
    }

    /// Makes the event that says that the run stands.
    fn stop(&mut self, reason: &str, text: Option<&str>, more: Value) -> Value {
        self.state = State::Stopped;
        let mut stop = json!({
            "reason": reason,
            "threadId": self.console.focus + 1,
            "allThreadsStopped": true,
        });
        if let Some(text) = text {
            stop["description"] = json!(text);
            stop["text"] = json!(text);
        }
        if let Value::Object(more) = more {
            more.into_iter().for_each(|(key, value)| stop[key] = value);
        }
        stop
    }

    /// Tells the editor where the run has come to, unless it is on its way still.
    pub fn arrived(&mut self, arrival: &Arrival) -> Result<(), Trouble> {
        if let Some(hart) = arrival.hart {
            self.console.focus = hart;
        }
        let verdict = self.judge(arrival)?;
        let pc = self.console.timeline.pc(self.console.focus);
        let ends_here = self.stepper.as_ref().is_some_and(|stepper| stepper.ends_at(pc));
        if verdict == Verdict::Unwanted && !ends_here {
            self.go_past();
            return Ok(());
        }
        let mut has_stepped = false;
        if let Some(mut stepper) = self.stepper.take() {
            match self.decide(&mut stepper, arrival, verdict) {
                Decision::Go(leg) => {
                    self.set_out(&stepper, leg);
                    self.stepper = Some(stepper);
                    return Ok(());
                }
                Decision::Done => has_stepped = true,
                Decision::Stopped => {}
            }
        }
        self.is_at_end = arrival.reason == Reason::End;
        let said = self.console.words_of(arrival);
        self.print("console", &said)?;
        let text = Some(said.trim_end()).filter(|text| !text.is_empty());
        let (reason, more) = match &arrival.reason {
            _ if has_stepped => ("step", json!({})),
            Reason::Stepped => ("step", json!({})),
            Reason::Breakpoint => {
                let pc = self.console.timeline.pc(self.console.focus);
                ("breakpoint", json!({ "hitBreakpointIds": self.breakpoints.at(pc) }))
            }
            Reason::Entered(_) | Reason::Command(_) => ("breakpoint", json!({})),
            Reason::Watchpoint { .. } | Reason::HostChanged { .. } => {
                ("data breakpoint", json!({}))
            }
            Reason::Fault(_) | Reason::Dropped(_) => {
                self.wrong = text.map(str::to_owned);
                ("exception", json!({}))
            }
            Reason::NoWayBack(_) => ("pause", json!({})),
            Reason::Begin => ("entry", json!({ "description": "The run begins here" })),
            Reason::End if self.stops_nowhere => {
                self.state = State::Stopped;
                self.wire.tell("exited", json!({ "exitCode": 0 }))?;
                self.wire.tell("terminated", json!({}))?;
                return Ok(());
            }
            Reason::End => ("pause", json!({ "description": "The run ends here" })),
        };
        let stop = self.stop(reason, text, more);
        self.wire.tell("stopped", stop)?;
        Ok(())
    }

    pub fn exception_info(&mut self, _: Value) -> Answer {
        let what = self.wrong.clone().ok_or("nothing went wrong here")?;
        Ok(json!({ "exceptionId": what, "description": what, "breakMode": "always" }))
    }
}
