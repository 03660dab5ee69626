//! The files that a program is made of, and places in them. In: names and texts. Out: for a place, its
//! file, line and column.

/// A place in a file: a range of its bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Span {
    /// Number of the file among the [`Sources`].
    pub file: u32,
    /// The first byte.
    pub start: u32,
    /// The byte behind the last.
    pub end: u32,
}

impl Span {
    /// Joins two places of one file; of two files the first is kept.
    #[must_use]
    pub fn to(self, end: Self) -> Self {
        match self.file == end.file {
            true => Self {
                file: self.file,
                start: self.start.min(end.start),
                end: self.end.max(end.end),
            },
            false => self,
        }
    }

    /// Gives the empty place behind it.
    #[must_use]
    pub fn behind(self) -> Self {
        Self { start: self.end, ..self }
    }
}

/// A file that was read.
#[derive(Clone, Debug)]
pub struct Source {
    /// Its name, as a reader would open it.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// Holds all files of a program, by number.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    files: Vec<Source>,
    /// Where a file includes another one, and which.
    included: Vec<(Span, u32)>,
}

impl Sources {
    /// Adds a file; gives its number.
    pub fn add(&mut self, name: String, text: String) -> u32 {
        self.files.push(Source { name, text });
        self.files.len() as u32 - 1
    }

    /// Notes that another file stands in the place of an `#include`.
    pub fn include(&mut self, place: Span, file: u32) {
        self.included.push((place, file));
    }

    /// Gives the program as one file: the first, with those that it includes where it does. What is
    /// included under no condition that held is not there.
    pub fn merged(&self) -> String {
        let mut text = String::new();
        self.merge(0, &mut text);
        text
    }

    fn merge(&self, file: u32, to: &mut String) {
        let Some(source) = self.get(file) else { return };
        let mut rest = 0;
        for (place, other) in self.included.iter().filter(|(place, _)| place.file == file) {
            to.push_str(source.text.get(rest..place.start as usize).unwrap_or(""));
            self.merge(*other, to);
            rest = place.end as usize;
        }
        to.push_str(source.text.get(rest..).unwrap_or(""));
    }

    /// Counts the files, each as often as it was read.
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// Tells whether nothing was read.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Gives a file.
    pub fn get(&self, file: u32) -> Option<&Source> {
        self.files.get(file as usize)
    }

    /// Gives the text at a place; empty where there is none.
    pub fn text(&self, span: Span) -> &str {
        let file = self.get(span.file).map_or("", |source| &source.text);
        file.get(span.start as usize..span.end as usize).unwrap_or("")
    }

    /// Gives the line of a place, from 1.
    pub fn line(&self, span: Span) -> usize {
        let file = self.get(span.file).map_or("", |source| &source.text);
        let before = file.as_bytes().get(..span.start as usize).unwrap_or(file.as_bytes());
        1 + before.iter().filter(|&&byte| byte == b'\n').count()
    }

    /// Gives file, line and column of a place, as `file:3:14`.
    pub fn place(&self, span: Span) -> String {
        let Some(source) = self.get(span.file) else { return "?".to_owned() };
        let before = source.text.get(..span.start as usize).unwrap_or(&source.text);
        let column = before.rsplit('\n').next().map_or(0, |line| line.chars().count()) + 1;
        format!("{}:{}:{column}", source.name, self.line(span))
    }
}
