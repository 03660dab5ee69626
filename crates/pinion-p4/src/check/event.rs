//! Controls of events: objects beside `main`, such as `TimerEvent(OnTimer()) timer;`. Each becomes a program of
//! its own, without a parser, that shares its headers' and metadata's types with the pipeline, and its
//! externs by their names.

use super::block::REGIONS;
use super::package::{Bound, head};
use super::{Checker, Kind, Role};
use crate::diagnostic::Diagnostic;
use crate::program::{Case, Event, EventKind, Program, State, StepKind, Target, visit};
use crate::source::Span;
use crate::syntax::{Declaration, Instance, TypeKind};

/// The packages of `events.p4`.
const PACKAGES: [(&str, EventKind); 5] = [
    ("TimerEvent", EventKind::Timer),
    ("DropEvent", EventKind::Drop),
    ("TrimEvent", EventKind::Trim),
    ("QueueEvent", EventKind::Queue),
    ("DeliveryEvent", EventKind::Delivery),
];

/// What the extern is called that starts timers.
const STARTS_TIMERS: &str = "startTimer_event";
/// Most words of a queue that an event can wait for.
const MOST_WORDS: i128 = u16::MAX as i128;

/// A control of an event, and what it belongs to.
pub(super) struct Handler<'a> {
    kind: EventKind,
    threshold: u32,
    pub(super) block: &'a Declaration,
    span: Span,
}

/// Tells which event an object is for.
pub(super) fn event_of(instance: &Instance) -> Option<EventKind> {
    let TypeKind::Named(name, _) = &instance.ty.kind else { return None };
    PACKAGES.iter().find(|(package, _)| *package == &*name.text).map(|(_, kind)| *kind)
}

impl<'a> Checker<'a> {
    /// Finds the controls that objects name for events.
    pub(super) fn handlers(
        &mut self,
        instances: &[&Instance],
        bound: &mut Bound,
    ) -> Vec<Handler<'a>> {
        let mut handlers: Vec<Handler> = Vec::new();
        for instance in instances {
            let Some(kind) = event_of(instance) else { continue };
            let span = instance.name.span;
            let TypeKind::Named(package, _) = &instance.ty.kind else { continue };
            let Some((Kind::Package, wanted)) = self.heads.get(&package.text).copied() else {
                let help = "include \"events.p4\", which declares it";
                self.error(package.span, format!("there is no package `{}`", package.text), help);
                continue;
            };
            if let Some(first) = handlers.iter().find(|known| known.kind == kind) {
                let error = Diagnostic::error(span, "a second control for this event");
                let help = "an event has one control; join them";
                self.found.push(error.related(first.span, "the first").help(help));
                continue;
            }
            if wanted.parameters.len() != instance.arguments.len() {
                let more = if kind == EventKind::Queue { ", WORDS" } else { "" };
                let message = format!(
                    "{} takes {}, not {}",
                    package.text,
                    if more.is_empty() { "a control" } else { "a control and a threshold" },
                    instance.arguments.len()
                );
                let name = &instance.name.text;
                let help = format!("write {}(OnEvent(){more}) {name};", package.text);
                self.error(instance.ty.span, message, help);
                continue;
            }
            let mut threshold = 0;
            if let Some(words) = instance.arguments.get(1) {
                let Some(number) = self.constant(words, None) else { continue };
                if !(1..=MOST_WORDS).contains(&number) {
                    let help = format!("a queue passes 1 to {MOST_WORDS} words of 64 bytes");
                    self.error(words.span, format!("a threshold of {number} words"), help);
                    continue;
                }
                threshold = number as u32;
            }
            let (parameter, argument) = (&wanted.parameters[0], &instance.arguments[0]);
            let Some(block) = self.argument(parameter, argument, bound) else { continue };
            handlers.push(Handler { kind, threshold, block, span });
        }
        handlers
    }

    /// Checks the control of an event, and the deparser behind it if it sends something.
    pub(super) fn event(&mut self, handler: &Handler<'a>, deparser: &'a Declaration) {
        let Some(types) = self.parameter_types(head(handler.block)) else { return };
        let pipeline = std::mem::take(&mut self.program);
        let signatures = std::mem::take(&mut self.signatures);
        let mut regions = [0; 3];
        let name = &head(handler.block).name;
        for (number, ty) in types.iter().enumerate().take(3) {
            regions[number] = self.allocate(ty, REGIONS[number], name.span);
            self.program.regions[number] = (regions[number], self.types.slots(ty));
        }
        if let Some(ty) = types.get(3) {
            let first = self.allocate(ty, "event", name.span);
            self.program.told = (first, self.types.slots(ty));
        }
        self.program.blocks =
            [String::new(), name.text.to_string(), head(deparser).name.text.to_string()];
        self.program.states = vec![State {
            name: "start".to_owned(),
            span: name.span,
            steps: Vec::new(),
            on: Vec::new(),
            cases: vec![Case { keys: Vec::new(), to: Target::Accept }],
        }];
        self.program.control = self.block(handler.block, Role::Control, Some(regions)).1;
        let send = self.program.find("smeta.send");
        let mut is_sent = false;
        visit(&self.program.control, &mut |step| match step.kind {
            StepKind::Set(slot, _) | StepKind::SetBits(slot, ..) => is_sent |= Some(slot) == send,
            _ => {}
        });
        if is_sent {
            self.program.deparser = self.block(deparser, Role::Deparser, Some(regions)).1;
        }
        let program: Program = std::mem::replace(&mut self.program, pipeline);
        self.signatures = signatures;
        let (kind, threshold, span) = (handler.kind, handler.threshold, handler.span);
        self.program.events.push(Event { kind, threshold, span, program });
    }

    /// Refuses timers that nothing starts, and warns of those that nobody hears.
    pub(super) fn timers(&mut self) {
        let (timer, start) = self.timer_and_start();
        match (timer, start) {
            (Some(span), None) => {
                let help = format!(
                    "declare UserExtern<timer_req_t, dummy_t>(1) {STARTS_TIMERS}; in a control, and ask it"
                );
                self.error(span, "nothing ever starts a timer for this event", help);
            }
            (None, Some(span)) => {
                let warning = Diagnostic::warning(span, "nobody hears when these timers fire");
                self.found.push(warning.help("add TimerEvent(OnTimer()) timer; behind main"));
            }
            _ => {}
        }
    }

    /// Gives where the control of timers is named, and where the extern is declared that starts them.
    fn timer_and_start(&self) -> (Option<Span>, Option<Span>) {
        let events = &self.program.events;
        let timer = events.iter().find(|event| event.kind == EventKind::Timer);
        let timer = timer.map(|event| event.span);
        let programs = [&self.program].into_iter().chain(events.iter().map(|event| &event.program));
        let mut externs = programs.flat_map(|program| &program.externs);
        let start = externs.find(|external| external.name == STARTS_TIMERS);
        let start = start.map(|external| external.span);
        (timer, start)
    }
}
