//! Expressions as one writes them to look at something: `args->task->pkt_mem_size`, `*packet`, `bins[3]`,
//! `&visit`, `$sp`; what stands between them is in `operators.rs`. They read and change nothing.

use super::Symbols;
use super::frames::{Frame, Memory};
use super::scopes::Variable;
use super::types::Kind;
use super::values::{Content, Value};

/// Limits brackets within each other.
const DEPTH_MAX: u32 = 64;

/// What names in an expression stand for.
pub struct Names<'n> {
    /// The call that they are of; `None`: those of no function alone.
    pub frame: Option<&'n Frame>,
    /// Memory, as the core sees it.
    pub memory: &'n Memory<'n>,
    /// Registers by their names, without `$`.
    pub register: &'n dyn Fn(&str) -> Option<u64>,
}

/// What an expression comes to.
#[derive(Clone, Debug)]
pub enum Answer {
    /// Something of the program.
    Value(Value),
    /// A number or an address of no type.
    Number(u64),
    /// What operators give.
    Computed(i128),
}

/// Reads an expression from the left.
pub(super) struct Reader<'r, 'a> {
    pub(super) symbols: &'r Symbols<'a>,
    pub(super) names: &'r Names<'r>,
    rest: &'r str,
    depth: u32,
}

impl<'a> Symbols<'a> {
    /// Lists the variables of a call, those of inner blocks first and none twice.
    pub fn locals(&self, frame: &Frame) -> Vec<&Variable<'a>> {
        let mut levels = self.levels(frame.within);
        if frame.level >= levels.len() {
            return Vec::new();
        }
        let mut found: Vec<&Variable<'a>> = Vec::new();
        for scope in levels.swap_remove(frame.level).into_iter().rev() {
            for variable in &scope.variables {
                if found.iter().all(|known| known.name != variable.name) {
                    found.push(variable);
                }
            }
        }
        found
    }

    fn variable(&self, name: &str, frame: Option<&Frame>) -> Option<Variable<'a>> {
        let is_it = |variable: &&Variable<'a>| variable.name == name;
        let locals = frame.map(|frame| self.locals(frame)).unwrap_or_default();
        let near = frame.map(|frame| self.globals_near(frame.within)).unwrap_or_default();
        let mut all = locals.into_iter().chain(near).chain(self.globals());
        all.find(is_it).cloned()
    }

    /// Works an expression out.
    ///
    /// # Errors
    /// Says what is wrong with it.
    pub fn evaluate(&self, text: &str, names: &Names<'_>) -> Result<Answer, String> {
        let mut reader = Reader { symbols: self, names, rest: text.trim(), depth: 0 };
        let answer = reader.whole_expression()?;
        match reader.rest.is_empty() {
            true => Ok(answer),
            false => Err(format!("`{}` is not understood", reader.rest)),
        }
    }
}

impl Reader<'_, '_> {
    pub(super) fn begins(&self, mark: &str) -> bool {
        self.rest.starts_with(mark)
    }

    pub(super) fn takes(&mut self, mark: &str) -> bool {
        let rest = self.rest.strip_prefix(mark).map(str::trim_start);
        rest.map(|rest| self.rest = rest).is_some()
    }

    fn word(&mut self) -> Result<String, String> {
        let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
        let end = self.rest.find(|letter| !is_part(letter)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest.trim_start();
        match word.is_empty() {
            true if self.rest.is_empty() => Err("the expression ends too early".to_owned()),
            true => Err(format!("`{}` is not understood", self.rest)),
            false => Ok(word.to_owned()),
        }
    }

    pub(super) fn unary(&mut self) -> Result<Answer, String> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err("the expression is too deep".to_owned());
        }
        let answer = if self.takes("*") {
            let pointer = self.unary()?;
            self.dereference(&pointer)
        } else if self.takes("&") {
            match self.unary()? {
                Answer::Value(value) => {
                    let address = value.address().map(Answer::Number);
                    address.ok_or_else(|| "it is in no memory".to_owned())
                }
                _ => Err("a number has no address".to_owned()),
            }
        } else if let Some(operator) = ["!", "~", "-"].into_iter().find(|mark| self.takes(mark)) {
            let operand = self.unary()?;
            self.in_front(operator, &operand)
        } else {
            self.postfix()
        };
        self.depth -= 1;
        answer
    }

    fn postfix(&mut self) -> Result<Answer, String> {
        let mut answer = self.primary()?;
        loop {
            answer = if self.takes("->") {
                let name = self.word()?;
                let target = self.dereference(&answer)?;
                self.member(&target, &name)?
            } else if self.takes(".") {
                let name = self.word()?;
                self.member(&answer, &name)?
            } else if self.takes("[") {
                let index = self.whole_expression()?;
                let index = self.number(&index)?;
                if !self.takes("]") {
                    return Err("a `]` is missing".to_owned());
                }
                self.element(&answer, index)?
            } else {
                return Ok(answer);
            };
        }
    }

    fn primary(&mut self) -> Result<Answer, String> {
        if self.takes("(") {
            let answer = self.whole_expression()?;
            return match self.takes(")") {
                true => Ok(answer),
                false => Err("a `)` is missing".to_owned()),
            };
        }
        if self.takes("$") {
            let name = self.word()?;
            let value = (self.names.register)(&name);
            return value.map(Answer::Number).ok_or_else(|| format!("there is no ${name} here"));
        }
        let word = self.word()?;
        if word.starts_with(|letter: char| letter.is_ascii_digit()) {
            let number = match word.strip_prefix("0x") {
                Some(digits) => u64::from_str_radix(digits, 16),
                None => word.parse(),
            };
            return number.map(Answer::Number).map_err(|_| format!("`{word}` is no number"));
        }
        if let Some(variable) = self.symbols.variable(&word, self.names.frame) {
            let content = self.symbols.find(&variable, self.names.frame, self.names.memory);
            return Ok(Answer::Value(Value { type_id: variable.type_id, content, bits: None }));
        }
        let address = self.symbols.address_of(&word).map(Answer::Number);
        address.ok_or_else(|| format!("there is no `{word}` here"))
    }

    fn number(&self, answer: &Answer) -> Result<u64, String> {
        match answer {
            Answer::Number(number) => Ok(*number),
            Answer::Computed(number) => {
                u64::try_from(*number).map_err(|_| format!("{number} is no address or index"))
            }
            Answer::Value(value) => {
                let number = self.symbols.number(value, self.names.memory);
                number.ok_or_else(|| self.symbols.text(value, self.names.memory))
            }
        }
    }

    fn dereference(&self, answer: &Answer) -> Result<Answer, String> {
        let Answer::Value(value) = answer else {
            return Err("the number has no type: what lies there is not known".to_owned());
        };
        match self.symbols.type_of(value.type_id).kind {
            Kind::Pointer { to } => Ok(Answer::Value(Value::at(self.number(answer)?, to))),
            Kind::Array { .. } => self.element(answer, 0),
            _ => Err("it is no pointer".to_owned()),
        }
    }

    fn member(&self, answer: &Answer, name: &str) -> Result<Answer, String> {
        let Answer::Value(value) = answer else {
            return Err(format!("a number has no `{name}`"));
        };
        let children = match self.symbols.type_of(value.type_id).kind {
            Kind::Structure { .. } => self.symbols.children(value, 0..u64::MAX, self.names.memory),
            _ => Vec::new(),
        };
        let found = children.into_iter().find(|child| child.name == name);
        let missing = || format!("it has no `{name}`");
        found.map(|child| Answer::Value(child.value)).ok_or_else(missing)
    }

    fn element(&self, answer: &Answer, index: u64) -> Result<Answer, String> {
        let Answer::Value(value) = answer else {
            return Err("a number has no elements".to_owned());
        };
        match self.symbols.type_of(value.type_id).kind {
            Kind::Array { count, .. } if index < count || count == 0 => {
                let range = index..index.saturating_add(1);
                let found = self.symbols.children(value, range, self.names.memory);
                let gone = Value { type_id: None, content: Content::Gone, bits: None };
                Ok(Answer::Value(found.into_iter().next().map_or(gone, |child| child.value)))
            }
            Kind::Array { count, .. } => Err(format!("it has {count} elements")),
            Kind::Pointer { to } => {
                let bytes = self.symbols.type_of(to).bytes.max(1);
                let address = self.number(answer)?.wrapping_add(index.wrapping_mul(bytes));
                Ok(Answer::Value(Value::at(address, to)))
            }
            _ => Err("it has no elements".to_owned()),
        }
    }
}
