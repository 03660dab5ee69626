//! A pipeline in words: what its parser takes, its stages, what its externs are asked, what it keeps from
//! packet to packet. In: a checked program. Out: a text; the parts as data for other forms.

use crate::program::{Key, Program, State, Target};

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
    /// Headers that the deparser sends if they are valid, with their bytes.
    pub sends: Vec<(String, u32)>,
}

impl Explanation {
    /// Explains a program.
    pub fn of(program: &Program) -> Self {
        let stages = &program.stages;
        let bits = |fields: &[(String, u32)]| fields.iter().map(|(_, bits)| bits).sum();
        let external = |(external, asked): (&crate::program::External, &Option<_>)| {
            let asked: &Option<crate::program::Asked> = asked;
            ExternLine {
                name: external.name.clone(),
                latency: external.latency,
                from: asked.map(|asked| asked.from),
                is_event: asked.is_some_and(|asked| asked.is_event),
                request_bits: bits(&external.request),
                response_bits: bits(&external.response),
            }
        };
        let mut sends = Vec::new();
        crate::program::visit(&program.deparser, &mut |step| {
            if let crate::program::StepKind::Emit(header, _) = step.kind {
                sends.push(header_line(program, header));
            }
        });
        Self {
            blocks: program.blocks.clone(),
            cycles: stages.cycles,
            parser_cycles: stages.parser,
            states: program.states.iter().map(|state| state_line(program, state)).collect(),
            externs: program.externs.iter().zip(&stages.externs).map(external).collect(),
            sends,
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
        let width = self.externs.iter().map(|external| external.name.len()).max().unwrap_or(0);
        for external in &self.externs {
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
        if self.externs.is_empty() {
            text += "    none\n";
        }
        let sends: Vec<_> =
            self.sends.iter().map(|(name, bytes)| format!("{name}, {bytes} B")).collect();
        let sends =
            if sends.is_empty() { "the payload alone".to_owned() } else { sends.join("; ") };
        text += &format!("\ndeparser: {sends}\n");
        text
    }
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
