//! Reads a formula. In: its text. Out: its parts, or what is wrong.

use super::{Condition, Function, Node, Operand, Operator, Order};

/// Parentheses that may stand within each other.
const DEEPEST: usize = 32;

/// Reads a formula.
pub(super) fn parse(text: &str) -> Result<Node, String> {
    let mut reader = Reader { rest: text, depth: 0 };
    let node = reader.sum()?;
    match reader.peek() {
        None => Ok(node),
        Some(_) => Err(format!("`{}` stands behind its end", reader.rest)),
    }
}

/// A text that is being read.
struct Reader<'a> {
    rest: &'a str,
    depth: usize,
}

impl<'a> Reader<'a> {
    fn peek(&mut self) -> Option<char> {
        self.rest = self.rest.trim_start();
        self.rest.chars().next()
    }

    fn takes(&mut self, wanted: &str) -> bool {
        self.peek();
        let rest = self.rest.strip_prefix(wanted);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn expect(&mut self, wanted: &str) -> Result<(), String> {
        if self.takes(wanted) {
            return Ok(());
        }
        Err(format!("`{wanted}` is missing before `{}`", self.rest))
    }

    /// Takes letters while they belong together.
    fn word(&mut self, belongs: impl Fn(char) -> bool) -> &'a str {
        self.peek();
        let end = self.rest.find(|letter| !belongs(letter)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    fn name(&mut self) -> &'a str {
        self.word(|letter| letter.is_alphanumeric() || letter == '_')
    }

    fn sum(&mut self) -> Result<Node, String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(format!("parentheses are nested more than {DEEPEST} deep"));
        }
        let mut node = self.product()?;
        loop {
            let operator = match self.peek() {
                Some('+') => Operator::Plus,
                Some('-') => Operator::Minus,
                _ => break,
            };
            self.rest = &self.rest[1..];
            node = Node::Operation(operator, Box::new(node), Box::new(self.product()?));
        }
        self.depth -= 1;
        Ok(node)
    }

    fn product(&mut self) -> Result<Node, String> {
        let mut node = self.factor()?;
        loop {
            let operator = match self.peek() {
                Some('*') => Operator::Times,
                Some('/') => Operator::Over,
                _ => return Ok(node),
            };
            self.rest = &self.rest[1..];
            node = Node::Operation(operator, Box::new(node), Box::new(self.factor()?));
        }
    }

    fn factor(&mut self) -> Result<Node, String> {
        match self.peek() {
            None => Err("it ends where a number or a name is wanted".to_owned()),
            Some('(') => {
                self.expect("(")?;
                let node = self.sum()?;
                self.expect(")")?;
                Ok(node)
            }
            Some('-') => {
                self.expect("-")?;
                let number = self.number()?;
                Ok(Node::Negative(Box::new(number)))
            }
            Some(letter) if letter.is_ascii_digit() => self.number(),
            Some(letter) if letter.is_alphabetic() => self.named(),
            Some(letter) => Err(format!("`{letter}` is no number, name or parenthesis")),
        }
    }

    /// Reads what a single minus may stand before: no second one, lest they nest without end.
    fn number(&mut self) -> Result<Node, String> {
        match self.peek() {
            Some(letter) if letter.is_ascii_digit() => Ok(Node::Number(self.digits()?)),
            Some('-') => Err("two minus signs follow each other".to_owned()),
            _ => self.factor(),
        }
    }

    fn digits(&mut self) -> Result<f64, String> {
        let word = self.word(|letter| letter.is_ascii_alphanumeric() || letter == '.');
        word.parse().map_err(|_| format!("`{word}` is no number"))
    }

    fn named(&mut self) -> Result<Node, String> {
        let name = self.name();
        if self.takes("(") {
            return self.call(name);
        }
        let mut conditions = Vec::new();
        if self.takes("[") {
            loop {
                conditions.push(self.condition()?);
                if !self.takes(",") {
                    break;
                }
            }
            self.expect("]")?;
        }
        Ok(Node::Name(name.to_owned(), conditions))
    }

    fn call(&mut self, name: &str) -> Result<Node, String> {
        let known = Function::ALL.iter().find(|(known, ..)| *known == name);
        let Some((_, function, takes)) = known else {
            let names: Vec<&str> = Function::ALL.iter().map(|(name, ..)| *name).collect();
            return Err(format!("there is no function `{name}`; there are {}", names.join(", ")));
        };
        let mut arguments = vec![self.sum()?];
        while self.takes(",") {
            arguments.push(self.sum()?);
        }
        self.expect(")")?;
        if *takes != 0 && arguments.len() != *takes {
            return Err(format!("`{name}` takes {takes} arguments, not {}", arguments.len()));
        }
        Ok(Node::Call(*function, arguments))
    }

    fn condition(&mut self) -> Result<Condition, String> {
        let column = self.name().to_owned();
        if column.is_empty() {
            return Err("a column's name is wanted behind `[` or `,`".to_owned());
        }
        let orders = [
            ("!=", Order::IsNot),
            ("<=", Order::AtMost),
            (">=", Order::AtLeast),
            ("<", Order::Below),
            (">", Order::Above),
            ("=", Order::Is),
        ];
        let found = orders.into_iter().find(|(sign, _)| self.takes(sign));
        let Some((_, order)) = found else {
            return Err(format!("a comparison (= != < <= > >=) is wanted behind `{column}`"));
        };
        let than = match self.peek() {
            Some('\'') => Operand::Text(self.text()?),
            Some(letter) if letter.is_ascii_digit() => Operand::Number(self.digits()?),
            _ => return Err(format!("`{column}` is compared with a number or a text in '…'")),
        };
        Ok(Condition { column, order, than })
    }

    fn text(&mut self) -> Result<String, String> {
        self.expect("'")?;
        let Some((text, rest)) = self.rest.split_once('\'') else {
            return Err(format!("the text '{} has no end", self.rest));
        };
        self.rest = rest;
        Ok(text.to_owned())
    }
}
