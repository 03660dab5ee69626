//! Figures that are nothing but a file. In: `[run]`, `[[series]]` and `[[columns]]` of a figure's file.
//! Out: its points, their runs, their rows.
//!
//! A series is the product of its axes; an axis is a list among the parameters. At each point a run of
//! the figure's kind ([`Kind`]), or the series' own, is told what `with` says, the figure's and the
//! series', in which `{name}` stands for an axis' value or a parameter. What the run measured are
//! quantities with names; a column is one of them, or a formula of quantities, axes and parameters; a
//! series may say otherwise of its rows. What fits nothing (a kind that there is not, a key that it does
//! not take, a name that nobody gives) is refused before the first run.

mod points;
mod row;
mod template;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::kinds::Kinds;
use super::{Cell, Column, Definition, Figure, Parameter, Parameters, Point, Row, Setting};
use pinion_app::error::{Error, Result};
use pinion_observe::plot::RowSpec;
use row::Sources;

/// What a run measured: quantities by their names.
pub type Record = BTreeMap<&'static str, Cell>;

/// A kind of run that files can ask for.
pub trait Kind: Sync + Send {
    /// Lists what it can be told, and whether it must be.
    fn keys(&self) -> &'static [(&'static str, bool)];

    /// Lists what it measures.
    fn quantities(&self) -> &'static [&'static str];

    /// Tells whether it can run on another machine than the file's.
    fn takes_machine(&self) -> bool {
        false
    }

    /// Does one run; most give one record.
    ///
    /// # Errors
    /// When the run cannot be done.
    fn run(&self, asked: &Asked<'_>, setting: &Setting<'_>) -> Result<Vec<Record>>;
}

/// What a run is told.
#[derive(Debug)]
pub struct Asked<'a> {
    /// Name of the point in messages.
    label: &'a str,
    with: &'a BTreeMap<String, Parameter>,
}

impl Asked<'_> {
    /// Tells whether a key was given.
    pub fn has(&self, key: &str) -> bool {
        self.with.contains_key(key)
    }

    /// Gives a number.
    ///
    /// # Errors
    /// When it is none.
    pub fn number(&self, key: &str) -> Result<f64> {
        match self.with.get(key) {
            Some(Parameter::Number(number)) => Ok(*number),
            _ => Err(self.wrong(key, "a number")),
        }
    }

    /// Gives a whole number.
    ///
    /// # Errors
    /// When it is none from 0 to 2⁵³.
    pub fn whole(&self, key: &str) -> Result<u64> {
        let number = self.number(key)?;
        let is_whole = number.fract() == 0.0 && (0.0..=(1u64 << 53) as f64).contains(&number);
        if is_whole { Ok(number as u64) } else { Err(self.wrong(key, "a whole number from 0 on")) }
    }

    /// Gives a whole number, where there is one.
    ///
    /// # Errors
    /// As [`Asked::whole`].
    pub fn whole_if_any(&self, key: &str) -> Result<Option<u64>> {
        self.has(key).then(|| self.whole(key)).transpose()
    }

    /// Gives a number, where there is one.
    ///
    /// # Errors
    /// As [`Asked::number`].
    pub fn number_if_any(&self, key: &str) -> Result<Option<f64>> {
        self.has(key).then(|| self.number(key)).transpose()
    }

    /// Gives a text.
    ///
    /// # Errors
    /// When it is none.
    pub fn text(&self, key: &str) -> Result<&str> {
        match self.with.get(key) {
            Some(Parameter::Text(text)) => Ok(text),
            _ => Err(self.wrong(key, "a text")),
        }
    }

    /// Gives a list of texts; none where the key was not given.
    ///
    /// # Errors
    /// When it is no such list.
    pub fn texts(&self, key: &str) -> Result<Vec<String>> {
        match self.with.get(key) {
            None => Ok(Vec::new()),
            Some(Parameter::Text(text)) => Ok(vec![text.clone()]),
            Some(Parameter::Texts(texts)) => Ok(texts.clone()),
            Some(_) => Err(self.wrong(key, "a list of texts")),
        }
    }

    /// Says that a key has a wrong value.
    pub fn wrong(&self, key: &str, expected: &str) -> Error {
        Error::Usage(format!("{}: `with.{key}` is not {expected}", self.label))
    }
}

/// A figure that is nothing but a file.
pub struct FromFile {
    name: String,
    /// Where it is, if it is not one of Pinion's.
    path: Option<PathBuf>,
    kinds: Arc<Kinds>,
}

impl FromFile {
    /// Makes one of Pinion's figures.
    pub fn named(name: &str, kinds: &Arc<Kinds>) -> Box<dyn Figure> {
        Box::new(Self { name: name.to_owned(), path: None, kinds: kinds.clone() })
    }

    /// Makes a figure of a user's file, named as the file is.
    ///
    /// # Errors
    /// When the path names no file.
    pub fn at(path: &Path, kinds: &Arc<Kinds>) -> Result<Box<dyn Figure>> {
        let name = path
            .file_stem()
            .and_then(|name| name.to_str())
            .ok_or_else(|| Error::Usage(format!("{} names no figure's file", path.display())))?;
        let (name, path) = (name.to_owned(), Some(path.to_owned()));
        Ok(Box::new(Self { name, path, kinds: kinds.clone() }))
    }

    fn wrong(&self, problem: &str) -> Error {
        let own = || format!("figures/{}.toml", self.name);
        let file = self.path.as_ref().map_or_else(own, |path| path.display().to_string());
        Error::Usage(format!("{file}: {problem}"))
    }

    /// Gives the kind of run that a series asks for.
    fn kind(&self, definition: &Definition, series: usize) -> Result<&dyn Kind> {
        let Some(run) = &definition.run else {
            let problem = format!("there is no [run]; it says which of {} runs", Kinds::names());
            return Err(self.wrong(&problem));
        };
        let own = definition.series.get(series).and_then(|series| series.kind.as_ref());
        let name = own.unwrap_or(&run.kind);
        self.kinds.find(name).ok_or_else(|| {
            let known = Kinds::names();
            self.wrong(&format!("run.kind: there is no kind `{name}`; there are {known}"))
        })
    }

    /// Refuses what no run would understand.
    fn check(
        &self,
        definition: &Definition,
        parameters: &Parameters,
        points: &[Point],
    ) -> Result<()> {
        for point in points {
            let kind = self.kind(definition, point.series)?;
            let keys = kind.keys();
            let mut axes = point.values.keys();
            if let Some(axis) = axes.find(|axis| kind.quantities().contains(&axis.as_str())) {
                let problem =
                    format!("axis `{axis}`: such runs measure a quantity of that name; rename it");
                return Err(self.wrong(&problem));
            }
            for key in point.with.keys() {
                if !keys.iter().any(|(known, _)| known == key) {
                    let known: Vec<&str> = keys.iter().map(|(key, _)| *key).collect();
                    let known = known.join(", ");
                    let problem = format!("`with.{key}` is nothing such a run takes: {known}");
                    return Err(self.wrong(&problem));
                }
            }
            let missing = keys.iter().find(|(key, must)| *must && !point.with.contains_key(*key));
            if let Some((key, _)) = missing {
                return Err(self.wrong(&format!("{}: `with.{key}` is missing", point.label)));
            }
            let record: Record =
                kind.quantities().iter().map(|name| (*name, Cell::Missing)).collect();
            self.rows(definition, parameters, point, &[record])?;
        }
        Ok(())
    }

    /// Makes the rows of what a run measured.
    fn rows(
        &self,
        definition: &Definition,
        parameters: &Parameters,
        point: &Point,
        records: &[Record],
    ) -> Result<Vec<Row>> {
        let plain = [RowSpec::default()];
        let specs = definition.series.get(point.series).map_or(&[][..], |series| &series.rows);
        let specs = if specs.is_empty() { &plain } else { specs };
        let mut rows = Vec::new();
        for (index, record) in records.iter().enumerate() {
            let sources = Sources { parameters, point, record };
            let is_first = point.is_first && index == 0;
            for spec in specs.iter().filter(|spec| sources.wants(spec, is_first)) {
                let row = sources.row(&definition.columns, spec).map_err(|problem| {
                    let known = self.kind(definition, point.series).map(Kind::quantities);
                    let known = known.map(|known| known.join(", ")).unwrap_or_default();
                    self.wrong(&format!("{problem} (such runs measure {known})"))
                });
                rows.push(row?);
            }
        }
        Ok(rows)
    }
}

impl Figure for FromFile {
    fn name(&self) -> &str {
        &self.name
    }

    fn definition(&self, overrides: &[String]) -> Result<Definition> {
        let Some(path) = &self.path else { return Definition::load(&self.name, overrides) };
        let text = pinion_input::text(path).map_err(|e| Error::file("read", path, e))?;
        Definition::read_file(&path.display().to_string(), &text, overrides)
    }

    fn takes_machine(&self, definition: &Definition) -> bool {
        self.kind(definition, 0).is_ok_and(Kind::takes_machine)
    }

    fn columns(&self, definition: &Definition) -> Vec<Column> {
        let column = |column: &super::ColumnSpec| Column {
            name: column.name.clone().into(),
            unit: column.unit.clone().into(),
            decimals: column.decimals,
        };
        definition.columns.iter().map(column).collect()
    }

    fn points(&self, definition: &Definition, parameters: &Parameters) -> Result<Vec<Point>> {
        self.kind(definition, 0)?;
        let names: BTreeSet<&str> = definition.columns.iter().map(|c| c.name.as_str()).collect();
        if definition.columns.is_empty() || names.len() < definition.columns.len() {
            return Err(self.wrong("[[columns]] are missing, or two have the same name"));
        }
        let points = points::points(definition, parameters)
            .map_err(|problem| problem.in_file(|text| self.wrong(text)))?;
        self.check(definition, parameters, &points)?;
        Ok(points)
    }

    fn run(&self, point: &Point, setting: &Setting<'_>) -> Result<Vec<Row>> {
        let asked = Asked { label: &point.label, with: &point.with };
        let records = self.kind(setting.definition, point.series)?.run(&asked, setting)?;
        self.rows(setting.definition, setting.parameters, point, &records)
    }
}
