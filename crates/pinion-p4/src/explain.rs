//! A pipeline in words: what its parser takes, its stages, what its externs are asked, what it keeps from
//! packet to packet. In: a checked program. Out: a text; the parts as data for other forms.

use crate::program::{Asked, External, Key, KeyKind, Program, State, TableShape, Target};

/// Nanoseconds of a cycle are these over the clock's MHz.
const NS_MHZ: f64 = 1000.0;

/// A line of the parser's table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateLine {
    /// The state's name.
    pub name: String,
    /// Headers that it takes, with their bytes.
    pub extracts: Vec<(String, u32)>,
    /// Where it goes: what must hold, and the next state.
    pub leads: Vec<(String, String)>,
}

/// A line of the externs' table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExternLine {
    /// Its name.
    pub name: String,
    /// Cycles from request to answer.
    pub latency: u32,
    /// The cycle of its request; none if it is never asked.
    pub from: Option<u32>,
    /// Nobody reads its answer: it makes something happen.
    pub is_event: bool,
    /// Bits of its request.
    pub request_bits: u32,
    /// Bits of its answer.
    pub response_bits: u32,
}

/// A line of the tables' table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableLine {
    /// Its name.
    pub name: String,
    /// What it compares: the value, its bits, and how.
    pub keys: Vec<(String, u32, &'static str)>,
    /// Its actions, with their parameters.
    pub actions: Vec<String>,
    /// Entries at most.
    pub size: u32,
}

/// A control of an event, explained.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventLine {
    /// The event.
    pub event: &'static str,
    /// Of a queue: the words that it passes.
    pub threshold: Option<u32>,
    /// The control.
    pub control: String,
    /// Cycles from the event until all has happened.
    pub cycles: u32,
    /// The externs.
    pub externs: Vec<ExternLine>,
    /// Headers that it sends.
    pub sends: Vec<(String, u32)>,
}

/// A pipeline, explained.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// Names of parser, control and deparser.
    pub blocks: [String; 3],
    /// Cycles from a header's arrival until all has happened.
    pub cycles: u32,
    /// Cycles of the parser.
    pub parser_cycles: u32,
    /// The parser's states.
    pub states: Vec<StateLine>,
    /// The externs.
    pub externs: Vec<ExternLine>,
    /// Match-action tables, those of events included.
    pub tables: Vec<TableLine>,
    /// Controls of events.
    pub events: Vec<EventLine>,
    /// Headers that the deparser sends if they are valid, with their bytes.
    pub sends: Vec<(String, u32)>,
}

impl Explanation {
    /// Explains a program.
    pub fn of(program: &Program) -> Self {
        let stages = &program.stages;
        let mut tables: Vec<&TableShape> = Vec::new();
        let programs =
            [program].into_iter().chain(program.events.iter().map(|event| &event.program));
        for table in programs.flat_map(|program| &program.tables) {
            if !tables.iter().any(|known| known.name == table.name) {
                tables.push(table);
            }
        }
        let event = |event: &crate::program::Event| EventLine {
            event: event.kind.name(),
            threshold: Some(event.threshold).filter(|words| *words > 0),
            control: event.program.blocks[1].clone(),
            cycles: event.program.stages.cycles,
            externs: extern_lines(&event.program),
            sends: sent(&event.program),
        };
        Self {
            blocks: program.blocks.clone(),
            cycles: stages.cycles,
            parser_cycles: stages.parser,
            states: program.states.iter().map(|state| state_line(program, state)).collect(),
            externs: extern_lines(program),
            tables: tables.into_iter().map(table_line).collect(),
            events: program.events.iter().map(event).collect(),
            sends: sent(program),
        }
    }

    /// Writes it for a clock of this frequency.
    pub fn to_text(&self, name: &str, mhz: u32) -> String {
        let ns = f64::from(self.cycles) * NS_MHZ / f64::from(mhz);
        let mut text = format!(
            "{name}: {}, {}, {}\n{} from a header's arrival until all has happened, {ns:.1} ns at {mhz} MHz; \
             a header a cycle\n\nparser, {}\n",
            self.blocks[0],
            self.blocks[1],
            self.blocks[2],
            cycles(self.cycles),
            cycles(self.parser_cycles)
        );
        let width = self.states.iter().map(|state| state.name.len()).max().unwrap_or(0);
        for state in &self.states {
            let extracts: Vec<_> =
                state.extracts.iter().map(|(name, bytes)| format!("{name}, {bytes} B")).collect();
            let leads: Vec<_> = state
                .leads
                .iter()
                .map(
                    |(when, to)| if when.is_empty() { to.clone() } else { format!("{when}: {to}") },
                )
                .collect();
            let extracts = if extracts.is_empty() { "-".to_owned() } else { extracts.join("; ") };
            text += &format!("    {:width$}  {extracts:24}  {}\n", state.name, leads.join("; "));
        }
        text += "\nexterns, in cycles from the header's arrival\n";
        text += &externs_text(&self.externs);
        if !self.tables.is_empty() {
            text += "\ntables\n";
        }
        for table in &self.tables {
            let keys =
                table.keys.iter().map(|(name, bits, kind)| format!("{name} ({bits}, {kind})"));
            let keys: Vec<_> = keys.collect();
            text += &format!(
                "    {}  by {}; up to {} entries: {}\n",
                table.name,
                keys.join(", "),
                table.size,
                table.actions.join(", ")
            );
        }
        text += &format!("\ndeparser: {}\n", sends_text(&self.sends));
        for event in &self.events {
            let words = event.threshold.map(|words| format!(" of {words} words"));
            text += &format!(
                "\nevent: {}{}, {}: {}\n",
                event.event,
                words.unwrap_or_default(),
                event.control,
                cycles(event.cycles)
            );
            text += &externs_text(&event.externs);
            if !event.sends.is_empty() {
                text += &format!("    sends {}\n", sends_text(&event.sends));
            }
        }
        text
    }
}

/// Writes lines of externs.
fn externs_text(externs: &[ExternLine]) -> String {
    let mut text = String::new();
    let width = externs.iter().map(|external| external.name.len()).max().unwrap_or(0);
    for external in externs {
        let when = match (external.from, external.is_event) {
            (None, _) => "never asked".to_owned(),
            (Some(from), true) => format!("an event in cycle {}", from + external.latency),
            (Some(from), false) => {
                format!("asked in {from}, answers in {}", from + external.latency)
            }
        };
        text += &format!(
            "    {:width$}  {when:24}  {} bits there, {} back\n",
            external.name, external.request_bits, external.response_bits
        );
    }
    if externs.is_empty() {
        text += "    none\n";
    }
    text
}

fn sends_text(sends: &[(String, u32)]) -> String {
    let sends: Vec<_> = sends.iter().map(|(name, bytes)| format!("{name}, {bytes} B")).collect();
    if sends.is_empty() { "the payload alone".to_owned() } else { sends.join("; ") }
}

fn extern_lines(program: &Program) -> Vec<ExternLine> {
    let bits = |fields: &[(String, u32)]| fields.iter().map(|(_, bits)| bits).sum();
    let line = |(external, asked): (&External, &Option<Asked>)| ExternLine {
        name: external.name.clone(),
        latency: external.latency,
        from: asked.map(|asked| asked.from),
        is_event: asked.is_some_and(|asked| asked.is_event),
        request_bits: bits(&external.request),
        response_bits: bits(&external.response),
    };
    program.externs.iter().zip(&program.stages.externs).map(line).collect()
}

fn table_line(table: &TableShape) -> TableLine {
    let kind = |kind| match kind {
        KeyKind::Exact => "exact",
        KeyKind::Prefix => "lpm",
        KeyKind::Ternary => "ternary",
    };
    let keys = table.keys.iter().map(|key| (key.name.clone(), key.width, kind(key.kind)));
    let actions = table.actions.iter().map(|action| {
        let own = action.parameters.iter().map(|(name, bits)| format!("{name} {bits}"));
        format!("{}({})", action.name, own.collect::<Vec<_>>().join(", "))
    });
    TableLine {
        name: table.name.clone(),
        keys: keys.collect(),
        actions: actions.collect(),
        size: table.size,
    }
}

/// Lists the headers that a program sends.
fn sent(program: &Program) -> Vec<(String, u32)> {
    let mut sends = Vec::new();
    crate::program::visit(&program.deparser, &mut |step| {
        if let crate::program::StepKind::Emit(header, _) = step.kind {
            sends.push(header_line(program, header));
        }
    });
    sends
}

/// Writes a number of cycles.
fn cycles(number: u32) -> String {
    format!("{number} cycle{}", if number == 1 { "" } else { "s" })
}

fn header_line(program: &Program, header: u32) -> (String, u32) {
    let header = &program.headers[header as usize];
    (header.name.clone(), header.bits / 8)
}

fn state_line(program: &Program, state: &State) -> StateLine {
    let mut extracts = Vec::new();
    crate::program::visit(&state.steps, &mut |step| {
        if let crate::program::StepKind::Extract(header) = step.kind {
            extracts.push(header_line(program, header));
        }
    });
    let to = |target: Target| match target {
        Target::State(number) => program.states[number].name.clone(),
        Target::Accept => "accept".to_owned(),
        Target::Reject => "reject".to_owned(),
    };
    let mut leads: Vec<(String, String)> = Vec::new();
    for case in &state.cases {
        let keys: Vec<_> = case.keys.iter().map(key).collect();
        let is_else = keys.iter().all(|key| key == "_");
        let when = match (keys.is_empty(), is_else) {
            (true, _) => String::new(),
            (false, true) => "else".to_owned(),
            (false, false) => keys.join(" "),
        };
        leads.push((when, to(case.to)));
    }
    StateLine { name: state.name.clone(), extracts, leads }
}

/// Writes a key.
fn key(key: &Key) -> String {
    match key {
        Key::Any => "_".to_owned(),
        Key::Mask(value, mask)
            if mask.count_ones() == mask.trailing_ones() && value & !mask == 0 =>
        {
            format!("{value:#x}")
        }
        Key::Mask(value, mask) => format!("{value:#x}&&&{mask:#x}"),
        Key::Range(first, last) => format!("{first:#x}..{last:#x}"),
    }
}
