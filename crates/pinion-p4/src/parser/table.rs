//! Match-action tables and their actions, as a control declares them.

use super::Parser;
use crate::diagnostic::Diagnostic;
use crate::syntax::{Action, StatementKind, Table, TableKey};

impl Parser<'_> {
    /// Reads an action behind its keyword.
    pub(super) fn action(&mut self) -> Option<StatementKind> {
        let name = self.name("the name of an action")?;
        let parameters = self.parameters()?;
        self.expect("{", "what an action does stands in braces")?;
        self.deeper()?;
        let body = self.statements()?;
        self.depth -= 1;
        Some(StatementKind::Action(Action { name, parameters, body }))
    }

    /// Reads a table behind its keyword.
    pub(super) fn table(&mut self) -> Option<StatementKind> {
        let name = self.name("the name of a table")?;
        self.expect("{", "a table's properties stand in braces")?;
        let mut table =
            Table { name, keys: Vec::new(), actions: Vec::new(), size: None, default: None };
        while !self.is("}") {
            if self.peek(0).is_none() {
                let error = Diagnostic::error(table.name.span, "this table has no end");
                self.error(error.help("close it with `}`"));
                return None;
            }
            if self.found.is_hopeless() {
                return None;
            }
            self.annotations();
            self.property(&mut table)?;
        }
        self.at += 1;
        Some(StatementKind::Table(table))
    }

    /// Reads a property of a table.
    fn property(&mut self, table: &mut Table) -> Option<()> {
        const PROPERTIES: &str =
            "a table has key = { … }, actions = { … }, size = …; and default_action = …;";
        let place = self.span();
        self.take("const");
        if self.take("key") {
            self.open_list()?;
            while !self.is("}") {
                let value = self.expression()?;
                self.expect(":", "a key is written value : exact; or lpm, or ternary")?;
                let kind = self.name("exact, lpm or ternary")?;
                self.expect(";", "")?;
                table.keys.push(TableKey { value, kind });
            }
            self.at += 1;
            self.take(";");
        } else if self.take("actions") {
            self.open_list()?;
            while !self.is("}") {
                self.annotations();
                table.actions.push(self.name("the name of an action")?);
                if self.take("(") {
                    self.expect(")", "an action's parameters come from entries")?;
                }
                self.expect(";", "")?;
            }
            self.at += 1;
            self.take(";");
        } else if self.take("size") {
            self.expect("=", PROPERTIES)?;
            table.size = Some(self.expression()?);
            self.expect(";", "")?;
        } else if self.take("default_action") {
            self.expect("=", PROPERTIES)?;
            let action = self.name("the name of an action")?;
            let arguments = if self.is("(") { self.arguments()? } else { Vec::new() };
            self.expect(";", "")?;
            table.default = Some((action, arguments));
        } else if self.is("entries") {
            let error = Diagnostic::error(place, "entries do not stand in the program");
            self.error(error.help("write them into a file, and name it by transport.tables=FILE"));
            return None;
        } else {
            self.expected("a property of a table", PROPERTIES);
            return None;
        }
        Some(())
    }

    fn open_list(&mut self) -> Option<()> {
        self.expect("=", "a list is written = { …; }")?;
        self.expect("{", "a list stands in braces").map(|_| ())
    }
}
