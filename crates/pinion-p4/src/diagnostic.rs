//! What is wrong with a program: each mistake with its place, and what to do about it. In: mistakes as
//! they are found. Out: them in the order of the text, as far as anybody reads on.

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

use crate::source::{Sources, Span};

/// Mistakes of a program that are told; it is seldom of use to read more of them.
const MOST: usize = 40;
/// Columns of a line of source that are shown of a message without a terminal.
const COLUMNS: usize = 100;
/// Bytes of a line that is shown as it is.
const LONGEST_LINE: usize = 2000;
/// Bytes of all lines that are looked at for one message.
const MOST_SHOWN: usize = 20_000;

/// Tells how bad something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The program is none.
    Error,
    /// The program may do something else than was meant.
    Warning,
}

/// Tells of one mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong, in a sentence without a stop.
    pub message: String,
    /// Where.
    pub span: Span,
    /// What stands below the caret.
    pub label: String,
    /// Other places that belong to it.
    pub related: Vec<(Span, String)>,
    /// What to do about it.
    pub help: Option<String>,
}

impl Diagnostic {
    /// Makes an error.
    pub fn error(span: Span, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            message: message.into(),
            span,
            label: String::new(),
            related: Vec::new(),
            help: None,
        }
    }

    /// Makes a warning.
    pub fn warning(span: Span, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(span, message) }
    }

    /// Says what stands below the caret.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// Adds another place.
    #[must_use]
    pub fn related(mut self, span: Span, label: impl Into<String>) -> Self {
        self.related.push((span, label.into()));
        self
    }

    /// Says what to do.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

/// Holds the mistakes found so far.
#[derive(Clone, Debug, Default)]
pub struct Diagnostics {
    found: Vec<Diagnostic>,
    errors: usize,
}

impl Diagnostics {
    /// Takes note of a mistake, unless one as bad is known of the same place.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        let is_known = |known: &Diagnostic| {
            known.span == diagnostic.span && known.severity <= diagnostic.severity
        };
        if self.found.iter().rev().take(MOST).any(is_known) {
            return;
        }
        self.errors += usize::from(diagnostic.severity == Severity::Error);
        if self.found.len() <= 2 * MOST {
            self.found.push(diagnostic);
        }
    }

    /// Counts the errors.
    pub fn errors(&self) -> usize {
        self.errors
    }

    /// Counts the warnings.
    pub fn warnings(&self) -> usize {
        self.found.iter().filter(|found| found.severity == Severity::Warning).count()
    }

    /// Tells whether so much is wrong that looking on would tell nothing.
    pub fn is_hopeless(&self) -> bool {
        self.errors > MOST
    }

    /// Lists what is worth reading, errors in the order of the text first.
    pub fn list(&self) -> Vec<&Diagnostic> {
        let mut list: Vec<_> = self.found.iter().collect();
        list.sort_by_key(|found| (found.severity, found.span.file, found.span.start));
        list.truncate(MOST);
        list
    }

    /// Writes what is wrong with the lines of source, in colours if they are wanted.
    pub fn to_text(&self, sources: &Sources, coloured: bool) -> String {
        let renderer = if coloured { Renderer::styled() } else { Renderer::plain() };
        let renderer = renderer.term_width(COLUMNS);
        let mut text = String::new();
        for found in self.list() {
            text.push_str(&render(&renderer, found, sources));
            text.push_str("\n\n");
        }
        text
    }
}

/// Writes one mistake.
fn render(renderer: &Renderer, found: &Diagnostic, sources: &Sources) -> String {
    let level = match found.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let mut group = Group::with_title(level.primary_title(found.message.as_str()));
    let mut places = vec![(found.span, found.label.as_str(), AnnotationKind::Primary)];
    let context = |(span, label): &'_ (Span, String)| (*span, label.clone());
    let related: Vec<_> = found.related.iter().map(context).collect();
    places.extend(
        related.iter().map(|(span, label)| (*span, label.as_str(), AnnotationKind::Context)),
    );
    let mut files: Vec<u32> = Vec::new();
    for (span, ..) in &places {
        if !files.contains(&span.file) {
            files.push(span.file);
        }
    }
    for file in files {
        let Some(source) = sources.get(file) else { continue };
        let here = || places.iter().filter(|(span, ..)| span.file == file);
        let part = shown(&source.text, here().map(|(span, ..)| *span));
        let first = 1 + source.text[..part.start].matches('\n').count();
        let mut snippet = Snippet::source(&source.text[part.clone()])
            .line_start(first)
            .path(source.name.as_str())
            .fold(true);
        for (span, label, kind) in here() {
            let range = within(&source.text, *span);
            let inside = |at: usize| at.clamp(part.start, part.end) - part.start;
            let annotation = kind.span(inside(range.start)..inside(range.end));
            let label = Some(*label).filter(|label| !label.is_empty());
            snippet = snippet.annotation(annotation.label(label));
        }
        group = group.element(snippet);
    }
    if let Some(help) = &found.help {
        group = group.element(Level::HELP.message(help.as_str()));
    }
    renderer.render(&[group])
}

/// Chooses what is shown of a text: the lines of all places, or, where these are too many or too long to
/// be read, what is around the first.
fn shown(text: &str, spans: impl Iterator<Item = Span>) -> std::ops::Range<usize> {
    let lines = |range: std::ops::Range<usize>| {
        let start = text[..range.start].rfind('\n').map_or(0, |at| at + 1);
        let end = text[range.end..].find('\n').map_or(text.len(), |at| range.end + at);
        start..end
    };
    let ranges: Vec<_> = spans.map(|span| within(text, span)).collect();
    let Some(first) = ranges.first().cloned() else { return 0..0 };
    let from = ranges.iter().map(|range| range.start).min().unwrap_or(0);
    let all = lines(from..ranges.iter().map(|range| range.end).max().unwrap_or(from));
    if all.len() <= MOST_SHOWN {
        return all;
    }
    let own = lines(first.clone());
    if own.len() <= LONGEST_LINE {
        return own;
    }
    let near = |at: usize| {
        let span = Span { file: 0, start: at as u32, end: at as u32 };
        within(text, span).start
    };
    let from = near(first.start.saturating_sub(COLUMNS)).max(own.start);
    from..near((first.start + COLUMNS).min(own.end)).max(from)
}

/// Gives the bytes of a place, within the text and between its characters.
fn within(text: &str, span: Span) -> std::ops::Range<usize> {
    let inside = |at: u32| {
        let mut at = (at as usize).min(text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        at
    };
    let (start, end) = (inside(span.start), inside(span.end));
    start..end.max(start)
}
