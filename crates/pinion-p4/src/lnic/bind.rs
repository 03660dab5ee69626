//! The units that a program's controls reach: which array and which table each of their externs is. In: the
//! externs. Out: units, with numbers of arrays, of which those of one name are one, and of tables.

use std::sync::Arc;

use super::Read;
use super::table::TableUnit;
use super::unit::{Unit, normal};
use crate::program::{External, Program, TableShape};

/// What the controls of a program have of arrays and tables.
#[derive(Default)]
pub(super) struct Units {
    pub arrays: Vec<(String, u64)>,
    pub tables: Vec<Arc<TableShape>>,
    /// Tables of other programs before these.
    pub before: usize,
}

impl Units {
    /// Finds the units that the externs of a control stand for; arrays and tables of one name are one.
    pub(super) fn bind(&mut self, read: &Read, program: &Program) -> Result<Vec<Unit>, String> {
        let place = |external: &External| read.sources.place(external.span);
        let mut units = Vec::new();
        for external in &program.externs {
            let unit = match external.table {
                Some(number) => {
                    let shape = &program.tables[number as usize];
                    let known = self.tables.iter().position(|table| table.name == shape.name);
                    if known.is_some_and(|known| !self.tables[known].is_like(shape)) {
                        return Err(format!(
                            "{}: another control has a table {} that is not like this one; give one of them \
                             another name",
                            place(external),
                            shape.name
                        ));
                    }
                    let mut table = TableUnit::of(shape);
                    table.store = self.before + known.unwrap_or(self.tables.len());
                    if known.is_none() {
                        self.tables.push(Arc::new(shape.clone()));
                    }
                    Unit::Table(table)
                }
                None => {
                    Unit::bind(external).map_err(|why| format!("{}: {why}", place(external)))?
                }
            };
            units.push(match unit {
                Unit::Array(mut array) => {
                    let name = normal(&external.name);
                    let known = self.arrays.iter().position(|(other, _)| *other == name);
                    array.store = known.unwrap_or(self.arrays.len());
                    match known {
                        None => self.arrays.push((name, array.mask)),
                        Some(known) if self.arrays[known].1 == array.mask => {}
                        Some(_) => {
                            return Err(format!(
                                "{}: {} has other bits in another control",
                                place(external),
                                external.name
                            ));
                        }
                    }
                    Unit::Array(array)
                }
                unit => unit,
            });
        }
        Ok(units)
    }
}
