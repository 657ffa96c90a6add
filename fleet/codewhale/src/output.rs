//! The only place that prints: data on standard output, talk on standard error. A reader that went
//! away ends the printing, never the work; nothing here panics over a stream.

use crate::arguments::Format;
use crate::exit::Exit;
use crate::report::Report;
use crate::surroundings::{Stream, Surroundings};
use fleet_tui::line::{Line, Tone};
use fleet_tui::text;
use serde::Serialize;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// When to use colours.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Color {
    /// In a terminal, unless NO_COLOR is set
    #[default]
    Auto,
    /// Everywhere
    Always,
    /// Nowhere
    Never,
}

impl Color {
    fn paints(self, stream: Stream, around: &Surroundings) -> Paint {
        let wanted = match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto => {
                stream == Stream::Terminal
                    && !around.has("NO_COLOR")
                    && around.text("TERM") != Some("dumb")
            }
        };
        if wanted { Paint::Ansi } else { Paint::Plain }
    }
}

/// Columns of a line that no terminal bounds.
const UNBOUNDED_COLUMNS: usize = 1000;

/// Whether a stream gets escape sequences.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Paint {
    /// Meanings become colours.
    Ansi,
    /// Text only.
    Plain,
}

/// Both standard streams.
pub(crate) struct Output {
    data: Channel,
    talk: Channel,
}

impl Output {
    /// The streams of this process.
    pub(crate) fn of_process(around: &Surroundings, color: Color) -> Self {
        Self {
            data: Channel::new(
                io::stdout(),
                color.paints(around.stdout, around),
                around.stdout,
            ),
            talk: Channel::new(
                io::stderr(),
                color.paints(around.stderr, around),
                around.stderr,
            ),
        }
    }

    /// A line of data.
    pub(crate) fn line(&self, line: impl Into<Line>) {
        let text = painted(&line.into(), self.data.paint);
        self.data.write(text.as_bytes());
    }

    /// Data of several lines, ended with a line feed. Control characters become visible.
    pub(crate) fn text(&self, text: &str) {
        self.data.write(ended(text::many_lines(text)).as_bytes());
    }

    /// A patch: exact bytes where they go to a program, coloured and made visible in a terminal.
    pub(crate) fn patch(&self, patch: &[u8]) {
        if self.data.stream == Stream::Other && self.data.paint == Paint::Plain {
            self.data.write(patch);
            return;
        }
        for line in String::from_utf8_lossy(patch).lines() {
            let tone = match line.as_bytes().first() {
                Some(b'+') => Tone::Good,
                Some(b'-') => Tone::Bad,
                Some(b'@') => Tone::Live,
                Some(b'd') => Tone::Strong,
                _ => Tone::Plain,
            };
            let shown = text::many_lines(line).replace('\t', "    ");
            self.line(Line::new().and(tone, &shown));
        }
    }

    /// Text that was formed here with its own escape sequences, or without any.
    pub(crate) fn ready_made(&self, text: &str) {
        self.data.write(ended(text.to_owned()).as_bytes());
    }

    /// One object of data on one line, with `"schema":"codewhale.<command>/1"` in front.
    ///
    /// # Errors
    /// When the value is not a JSON object.
    pub(crate) fn object<T: Serialize>(&self, command: &str, value: &T) -> Result<(), Report> {
        let schema = format!("codewhale.{command}/1");
        self.json_line(&Enveloped { schema, value })
    }

    /// One line of JSON.
    ///
    /// # Errors
    /// When the value cannot be written as JSON.
    pub(crate) fn json_line<T: Serialize>(&self, value: &T) -> Result<(), Report> {
        let text = serde_json::to_string(value).map_err(|error| {
            Report::storage("The result cannot be written as JSON").because(&error)
        })?;
        self.ready_made(&text);
        Ok(())
    }

    /// A line of JSON that is on its way to the reader when this returns.
    pub(crate) fn record(&self, json: &str) {
        self.ready_made(json);
        self.flush();
    }

    /// Sends data on its way.
    pub(crate) fn flush(&self) {
        self.data.flush();
    }

    /// True once the reader of data has gone away.
    pub(crate) fn is_closed(&self) -> bool {
        matches!(self.data.lock().state, State::Closed)
    }

    /// Where a live view is drawn: standard error, when both streams go to a terminal that can.
    pub(crate) fn live(&self) -> Option<Live<'_>> {
        let both = [&self.data, &self.talk].map(|channel| channel.stream);
        let can = both == [Stream::Terminal; 2] && self.talk.paint == Paint::Ansi;
        can.then_some(Live(&self.talk))
    }

    /// A line of talk.
    pub(crate) fn say(&self, line: impl Into<Line>) {
        self.data.flush();
        let text = painted(&line.into(), self.talk.paint);
        self.talk.write(text.as_bytes());
        self.talk.flush();
    }

    /// Talk of several lines. Control characters become visible.
    pub(crate) fn say_text(&self, text: &str) {
        self.say_ready_made(&text::many_lines(text));
    }

    /// Talk that was formed elsewhere, with or without escape sequences.
    pub(crate) fn say_ready_made(&self, text: &str) {
        self.data.flush();
        self.talk.write(ended(text.to_owned()).as_bytes());
        self.talk.flush();
    }

    /// Tells what went wrong: to people on standard error, and to programs as an object on standard
    /// output besides. Returns the exit status of the report.
    pub(crate) fn report(&self, report: &Report, format: Format) -> Exit {
        if format == Format::Json {
            // A report is made of texts and a number: it can always be written.
            let _ = self.json_line(&report.for_programs());
        }
        self.say_ready_made(&report.for_people(self.talk.paint));
        report.exit()
    }

    /// Columns that a line of data may take: those of the terminal, or as good as no bound.
    pub(crate) fn columns(&self) -> usize {
        match self.data.stream {
            Stream::Terminal => usize::from(terminal_size().0),
            Stream::Other => UNBOUNDED_COLUMNS,
        }
    }

    /// Whether data gets escape sequences.
    pub(crate) fn data_paint(&self) -> Paint {
        self.data.paint
    }

    /// Whether talk gets escape sequences.
    pub(crate) fn talk_paint(&self) -> Paint {
        self.talk.paint
    }

    /// Hands over what was held back, and tells whether all data got where it should. A reader that
    /// stopped reading has what it wanted; a full disk has not.
    ///
    /// # Errors
    /// When writing data failed for another reason than a closed pipe.
    pub(crate) fn finish(&self) -> Result<(), Report> {
        self.data.flush();
        match &self.data.lock().state {
            State::Failed(error) => {
                Err(Report::storage("Standard output cannot be written").because(error))
            }
            State::Open | State::Closed => Ok(()),
        }
    }
}

/// Columns and lines of the terminal; the usual ones when it does not say.
pub(crate) fn terminal_size() -> (u16, u16) {
    match crossterm::terminal::size() {
        Ok((columns, lines)) if columns > 0 && lines > 0 => (columns, lines),
        _ => (80, 24),
    }
}

#[derive(Serialize)]
struct Enveloped<'a, T> {
    schema: String,
    #[serde(flatten)]
    value: &'a T,
}

/// Standard error as a live view writes to it.
pub(crate) struct Live<'a>(&'a Channel);

impl Write for Live<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush();
        Ok(())
    }
}

struct Channel {
    sink: Mutex<Sink>,
    paint: Paint,
    stream: Stream,
}

struct Sink {
    writer: BufWriter<Box<dyn Write + Send>>,
    state: State,
}

enum State {
    Open,
    /// The reader went away.
    Closed,
    Failed(io::Error),
}

impl Channel {
    fn new(writer: impl Write + Send + 'static, paint: Paint, stream: Stream) -> Self {
        let sink = Sink {
            writer: BufWriter::new(Box::new(writer)),
            state: State::Open,
        };
        Self {
            sink: Mutex::new(sink),
            paint,
            stream,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Sink> {
        self.sink.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, bytes: &[u8]) {
        self.lock().attempt(|writer| writer.write_all(bytes));
    }

    fn flush(&self) {
        self.lock().attempt(|writer| writer.flush());
    }
}

impl Sink {
    fn attempt(&mut self, act: impl FnOnce(&mut dyn Write) -> io::Result<()>) {
        if !matches!(self.state, State::Open) {
            return;
        }
        if let Err(error) = act(&mut self.writer) {
            self.state = if error.kind() == ErrorKind::BrokenPipe {
                State::Closed
            } else {
                State::Failed(error)
            };
        }
    }
}

fn ended(mut text: String) -> String {
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

fn painted(line: &Line, paint: Paint) -> String {
    let mut text = String::new();
    for piece in line.pieces() {
        match (paint, escape_of(piece.tone())) {
            (Paint::Ansi, Some(start)) => {
                text.push_str(start);
                text.push_str(piece.text());
                text.push_str("\u{1b}[0m");
            }
            (Paint::Plain, _) | (Paint::Ansi, None) => text.push_str(piece.text()),
        }
    }
    text.push('\n');
    text
}

fn escape_of(tone: Tone) -> Option<&'static str> {
    match tone {
        Tone::Plain => None,
        Tone::Strong => Some("\u{1b}[1m"),
        Tone::Faint => Some("\u{1b}[2m"),
        Tone::Good => Some("\u{1b}[32m"),
        Tone::Live => Some("\u{1b}[36m"),
        Tone::Warn => Some("\u{1b}[33m"),
        Tone::Bad => Some("\u{1b}[31m"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    /// A stream that keeps what it gets, or always fails.
    #[derive(Clone, Default)]
    struct Kept {
        bytes: Arc<Mutex<Vec<u8>>>,
        fails_with: Option<ErrorKind>,
    }

    impl Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if let Some(kind) = self.fails_with {
                return Err(kind.into());
            }
            self.bytes.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn printed(paint: Paint, act: impl FnOnce(&Output)) -> (String, String) {
        let (data, talk) = (Kept::default(), Kept::default());
        let output = Output {
            data: Channel::new(data.clone(), paint, Stream::Other),
            talk: Channel::new(talk.clone(), paint, Stream::Other),
        };
        act(&output);
        output.finish().unwrap();
        let text = |kept: Kept| String::from_utf8(kept.bytes.lock().unwrap().clone()).unwrap();
        (text(data), text(talk))
    }

    fn finish_after(kind: ErrorKind) -> Result<(), Report> {
        let failing = Kept {
            fails_with: Some(kind),
            ..Kept::default()
        };
        let output = Output {
            data: Channel::new(failing, Paint::Plain, Stream::Other),
            talk: Channel::new(Kept::default(), Paint::Plain, Stream::Other),
        };
        output.text("one");
        output.say("two");
        output.text("three");
        output.finish()
    }

    #[test]
    fn data_and_talk_are_kept_apart() {
        let (data, talk) = printed(Paint::Plain, |output| {
            output.line("result");
            output.say("hello");
        });
        assert_eq!((data.as_str(), talk.as_str()), ("result\n", "hello\n"));
    }

    #[test]
    fn meanings_become_colours_only_where_wanted() {
        let line = Line::new().and(Tone::Good, "ok").and(Tone::Plain, " done");
        let (data, _) = printed(Paint::Plain, |output| output.line(line.clone()));
        assert_eq!(data, "ok done\n");
        let (data, _) = printed(Paint::Ansi, |output| output.line(line));
        assert_eq!(data, "\u{1b}[32mok\u{1b}[0m done\n");
    }

    #[test]
    fn escape_sequences_in_data_never_reach_a_terminal() {
        let (data, _) = printed(Paint::Ansi, |output| {
            output.line("a\u{1b}[31m");
            output.text("b\u{1b}c\nd");
        });
        assert_eq!(data, "a␛[31m\nb␛c\nd\n");
    }

    #[test]
    fn an_object_is_one_line_that_names_its_schema() {
        #[derive(Serialize)]
        struct Value {
            text: &'static str,
        }
        let (data, _) = printed(Paint::Ansi, |output| {
            output.object("demo", &Value { text: "a\nb" }).unwrap();
        });
        assert_eq!(
            data,
            "{\"schema\":\"codewhale.demo/1\",\"text\":\"a\\nb\"}\n"
        );
    }

    #[test]
    fn a_reader_that_went_away_is_no_failure_but_a_full_disk_is() {
        assert!(finish_after(ErrorKind::BrokenPipe).is_ok());
        let report = finish_after(ErrorKind::StorageFull).expect_err("a full disk");
        assert_eq!(report.exit(), Exit::Storage);
    }

    #[test]
    fn colours_follow_terminal_choice_and_environment() {
        let check = |color: Color, stream, variables: &[(&str, &str)], expected| {
            let around = Surroundings::with(variables);
            assert_eq!(
                color.paints(stream, &around),
                expected,
                "{color:?} {variables:?}"
            );
        };
        check(Color::Auto, Stream::Terminal, &[], Paint::Ansi);
        check(Color::Auto, Stream::Other, &[], Paint::Plain);
        check(
            Color::Auto,
            Stream::Terminal,
            &[("NO_COLOR", "1")],
            Paint::Plain,
        );
        check(
            Color::Auto,
            Stream::Terminal,
            &[("NO_COLOR", "")],
            Paint::Ansi,
        );
        check(
            Color::Auto,
            Stream::Terminal,
            &[("TERM", "dumb")],
            Paint::Plain,
        );
        check(
            Color::Always,
            Stream::Other,
            &[("NO_COLOR", "1")],
            Paint::Ansi,
        );
        check(Color::Never, Stream::Terminal, &[], Paint::Plain);
    }
}
