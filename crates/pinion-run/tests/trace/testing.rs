//! What tests of traces share: applications made of the calibration programs, runs, a second ear.

use std::path::Path;

use pinion_sim::Time;
use pinion_spin::{Event, HandlerRecord, Hears, Interest, PacketRecord, Spin};

use pinion_app::app::{App, Options};
use pinion_app::error::Result;
use pinion_app::traffic::Packets;
use pinion_observe::report::Outputs;
use pinion_observe::trace::{Choice, Filter, TextTrace, Tracer};
use pinion_run::run::{self, Finished};
use pinion_run::watch::Unobserved;

/// Makes an application of a calibration program; an empty name: no such handler.
pub fn app(program: &str, handlers: [&str; 3], overrides: &[&str]) -> App {
    let elf = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join(format!("../../tests/calibration/pspin/elf/{program}.elf"));
    let keys = ["header", "payload", "completion"].iter().zip(handlers);
    let named = keys.filter(|(_, name)| !name.is_empty());
    let lines: String = named.map(|(key, name)| format!("{key} = \"{name}\"\n")).collect();
    let text = format!(
        "[app]\nname = \"traced\"\nelf = {elf:?}\n\n[[context]]\nname = \"all\"\nmatch = [\"udp\"]\n\
         message = \"flow\"\nend_of_message = \"packets=4\"\nhandler_memory = \"64KiB\"\n\
         scratchpad = \"16KiB\"\nhost_memory = \"1MiB\"\n{lines}"
    );
    let unique = std::thread::current().name().unwrap_or("test").replace("::", "-");
    let name = format!("pinion-trace-{}-{unique}-{program}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("app.toml"), text).unwrap();
    let overrides = overrides.iter().map(|text| (*text).to_owned()).collect();
    let app = App::load(&folder, &Options { overrides, ..Options::default() });
    std::fs::remove_dir_all(&folder).unwrap();
    app.unwrap_or_else(|error| panic!("{}", pinion_app::error::paragraph(&error)))
}

/// Is the traffic of all tests: three messages of four packets.
pub fn packets() -> Packets {
    let spec = "udp,size=256,messages=3,packets=4,order=interleaved,rate=200g";
    Packets::generate(spec, Some(1), None).expect("a good specification")
}

/// Hears what a tracer hears.
pub struct Spy<T> {
    pub tracer: T,
    pub handlers: Vec<HandlerRecord>,
    pub packets: Vec<PacketRecord>,
    pub departed: usize,
}

impl<T: Tracer> Spy<T> {
    /// Runs an application on the tests' traffic.
    pub fn run(app: &App, tracer: T) -> (Self, Finished) {
        let (handlers, packets) = (Vec::new(), Vec::new());
        let mut spy = Self { tracer, handlers, packets, departed: 0 };
        let done = run::trace(app, self::packets(), &Outputs::default(), &mut Unobserved, &mut spy);
        (spy, done.unwrap_or_else(|error| panic!("{}", pinion_app::error::paragraph(&error))))
    }
}

impl<T: Tracer> Hears<Spin> for Spy<T> {
    fn interest(&self) -> Interest {
        Interest { handlers: true, ..self.tracer.interest() }
    }

    fn hear(&mut self, event: &Event<'_>) {
        match event {
            Event::HandlerDone(record) => self.handlers.push((*record).clone()),
            Event::PacketDone(record) => self.packets.push((*record).clone()),
            Event::Departed { .. } => self.departed += 1,
            _ => {}
        }
        self.tracer.hear(event);
    }
}

impl<T: Tracer> Tracer for Spy<T> {
    fn begin(&self) -> Time {
        self.tracer.begin()
    }

    fn end(&self) -> Time {
        self.tracer.end()
    }

    fn settle(&mut self, until: Time) -> Result<()> {
        self.tracer.settle(until)
    }

    fn finish(&mut self, now: Time) -> Result<()> {
        self.tracer.finish(now)
    }
}

/// Traces a run as text.
pub fn text(app: &App, choice: &Choice, wants: (bool, bool)) -> String {
    let filter = Filter::new(app, choice).unwrap();
    let mut out = Vec::new();
    Spy::run(app, TextTrace::new(app, filter, wants, &mut out));
    String::from_utf8(out).unwrap()
}
