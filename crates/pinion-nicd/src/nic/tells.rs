//! Why a packet of a live NIC takes as long as it does, told to a debugger that has the NIC. In: what a NIC and
//! the programs on it are, and a way to have what is kept of its run heard. Out: the answer in words.

use std::ops::Range;

use pinion_app::app::App;
use pinion_app::error::Result;
use pinion_app::service::Service;
use pinion_debug::visit::HearNic;
use pinion_debug::visit::nodes::{HearNode, Nodes};
use pinion_debug::{Said, Target};
use pinion_isa::elf::Image;
use pinion_nanopu::waypoint::Met;
use pinion_observe::settling::Settling;
use pinion_observe::trace::Tracer;
use pinion_run::cluster::{NodeTracer, Target as Of};
use pinion_run::nanoservice::Setup;
use pinion_spin::{
    ContextId, Event, ExecutionContext, HandlerKind, Hears, Interest, Machine, Spin,
};
use pinion_why::{Elf, Subject, Which, answer, nano};

/// A program on a NIC.
pub struct OnNic {
    /// Its file.
    pub elf: Vec<u8>,
    /// What it says.
    pub image: Image,
    /// The memory that it occupies.
    pub ranges: Vec<Range<u32>>,
}

/// A NIC that is asked about.
pub struct Asked {
    /// What it is called.
    pub name: String,
    /// The machine.
    pub machine: Machine,
    /// Its contexts.
    pub contexts: Vec<ExecutionContext>,
    /// The programs on it.
    pub programs: Vec<OnNic>,
}

impl Asked {
    /// Describes a NIC that came with its application.
    pub fn of(app: &App) -> Self {
        let elf = std::fs::read(&app.built.elf).unwrap_or_default();
        let all_of_it = vec![Range { start: 0, end: u32::MAX }];
        Self {
            name: app.manifest.app.name.clone(),
            machine: app.machine.value.clone(),
            contexts: app.contexts.clone(),
            programs: vec![OnNic { elf, image: app.image.clone(), ranges: all_of_it }],
        }
    }

    /// Tells why a packet, or the last packet of a message, took as long as it did.
    pub fn tell(&self, target: Target, hear: &mut HearNic<'_>) -> Said<String> {
        self.answer(which(target)?, hear).map_err(|error| said(&error))
    }

    fn answer(&self, which: Which, hear: &mut HearNic<'_>) -> Result<String> {
        let mut whose = Whose { which, context: None };
        hear(&mut whose)?;
        let program = self.program(whose.context);
        let program = program.ok_or_else(|| {
            let why = "no program is on the NIC whose handlers could be told of";
            pinion_app::Error::Usage(why.to_owned())
        })?;
        let subject = Subject {
            name: &self.name,
            machine: &self.machine,
            contexts: &self.contexts,
            image: &program.image,
            elf: Elf::Of(&program.elf),
        };
        let answered = answer(which, subject, hear)?;
        Ok(answered.map_or_else(String::new, |answer| answer.to_text()))
    }

    /// Finds the program whose handlers a context has; any, if nobody knows.
    fn program(&self, context: Option<ContextId>) -> Option<&OnNic> {
        let kinds = [HandlerKind::Header, HandlerKind::Payload, HandlerKind::Completion];
        let context = context.and_then(|id| self.contexts.get(id.0 as usize));
        let handler = context.and_then(|it| kinds.iter().find_map(|kind| it.handler(*kind)));
        let holds = |program: &&OnNic| {
            let address = handler.map(|handler| handler.address);
            address.is_some_and(|at| program.ranges.iter().any(|range| range.contains(&at)))
        };
        self.programs.iter().find(holds).or(self.programs.first())
    }
}

fn which(target: Target) -> Said<Which> {
    Ok(match target {
        Target::Packet(packet) => Which::Packet(packet),
        Target::Message(message) => {
            Which::Message(message.try_into().map_err(|_| "messages have 32 bits".to_owned())?)
        }
    })
}

fn said(error: &pinion_app::Error) -> String {
    format!("{error}; of a live run that is told which has come since the way back begins")
}

/// Tells why a packet or message took as long as it did in a node that runs live.
pub fn of_node(
    nodes: &Nodes,
    number: usize,
    target: Target,
    met: &Met,
    hear: &mut HearNode<'_>,
) -> Said<String> {
    let of_nano = |service: &Service, setup: &Setup, hear: &mut HearNode<'_>| {
        let hear = &mut |ears: &mut (dyn Settling + Send)| hear(NodeTracer::Nano(Box::new(ears)));
        let answered = nano::answer_since(which(target)?, (service, setup), met, hear);
        let answered = answered.map_err(|error| said(&error))?;
        Ok(answered.map_or_else(String::new, |answer| answer.to_text()))
    };
    match nodes {
        Nodes::Nanoservice(service, setup, _) => of_nano(service, setup, hear),
        Nodes::Cluster(plan, _) => match plan.group_of(number).map(|(group, _)| &group.target) {
            Some(Of::Nanoservice { service, setup, .. }) => of_nano(service, setup, hear),
            Some(Of::Handlers { app }) => {
                let hear = &mut |tracer: &mut (dyn Tracer + Send)| {
                    hear(NodeTracer::Spin(Box::new(tracer)))
                };
                Asked::of(app).tell(target, hear)
            }
            _ => Err("the node runs no program".to_owned()),
        },
    }
}

/// Hears whose packet it is.
struct Whose {
    which: Which,
    context: Option<ContextId>,
}

impl Hears<Spin> for Whose {
    fn interest(&self) -> Interest {
        Interest::default()
    }

    fn hear(&mut self, event: &Event<'_>) {
        if let Event::PacketDone(record) = event
            && match self.which {
                Which::Packet(packet) => packet == record.packet,
                Which::Message(message) => message == record.message,
                _ => false,
            }
        {
            self.context = Some(record.context);
        }
    }
}

impl Tracer for Whose {}
