//! Showing a ledger record by record, past damage, with a mark at every damaged place. Never hides that
//! something is missing, never shows what a torn write left.

use crate::error::InspectError;
use crate::line::Line;
use crate::record::Record;
use crate::verify::{Damage, Report, verify_lines};
use crate::walk::{Segment, Step, walk};
use serde_json::value::RawValue;
use std::io::{self, Write};
use std::path::Path;

/// How records are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// One line a record for people: `seq time epoch type task/attempt`, then the other fields.
    Text,
    /// One JSON object a record: `seq`, `epoch` and `at`, then the record as it stands. A mark is an
    /// object of the type `ledger.damaged` or `ledger.torn`.
    Json,
}

/// Which records are shown. Marks always are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Only those that speak of this task.
    pub task: Option<String>,
    /// Only those of one of these types, when there are any. `tool` stands for all `tool.…`.
    pub types: Vec<String>,
}

impl Filter {
    fn takes(&self, record: &Record<'_>) -> bool {
        let kind = record.kind().unwrap_or_default();
        let is_of = |wanted: &String| {
            kind.strip_prefix(wanted.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        (self.types.is_empty() || self.types.iter().any(is_of))
            && (self.task.is_none() || self.task == record.task())
    }

    fn takes_all(&self) -> bool {
        self.task.is_none() && self.types.is_empty()
    }
}

/// What was shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// Records written.
    pub records: u64,
    /// What verifying found; decides the exit code.
    pub report: Report,
}

/// Writes the records of the ledger at `path`, a run's folder or a segment, that `filter` takes.
///
/// # Errors
/// When there is no ledger, it is of a newer format (what stands before is written), it cannot be read,
/// or `out` takes no more.
pub fn show(
    path: &Path,
    filter: &Filter,
    style: Style,
    out: &mut dyn Write,
) -> Result<Shown, InspectError> {
    // Whether the end is torn or damaged is known only after all has been read.
    let verdict = match verify_lines(path) {
        Err(error) if !matches!(error, InspectError::Newer { .. }) => return Err(error),
        verdict => verdict,
    };
    let mut printer = Printer {
        filter,
        style,
        out,
        records: 0,
    };
    let report = verdict.as_ref().ok();
    let torn = report.and_then(|report| report.torn.as_ref());
    let end = torn.map_or(u64::MAX, |torn| torn.place.byte);
    let mut marks = report
        .map_or(&[][..], |report| &report.damage)
        .iter()
        .peekable();
    walk(Segment::open(path)?, &mut |step| {
        let byte = match &step {
            Step::Line(line) => line.byte,
            Step::Fault(fault) => fault.place.byte,
            Step::Lost { .. } => return Ok(()),
        };
        while let Some(damage) = marks.next_if(|damage| damage.place.byte <= byte) {
            printer.mark(damage).map_err(InspectError::Write)?;
        }
        match step {
            Step::Line(line) if byte < end => printer.line(line).map_err(InspectError::Write),
            _ => Ok(()),
        }
    })?;
    for damage in marks {
        printer.mark(damage).map_err(InspectError::Write)?;
    }
    let report = verdict?;
    printer.torn(&report).map_err(InspectError::Write)?;
    Ok(Shown {
        records: printer.records,
        report,
    })
}

struct Printer<'a> {
    filter: &'a Filter,
    style: Style,
    out: &'a mut dyn Write,
    records: u64,
}

impl Printer<'_> {
    fn line(&mut self, line: &Line<'_>) -> io::Result<()> {
        for raw in &line.records {
            match Record::read(raw) {
                Some(record) if self.filter.takes(&record) => self.record(line, &record)?,
                Some(_) => {}
                None => self.not_a_record(line, raw)?,
            }
        }
        if line.records.is_empty() && self.style == Style::Text && self.filter.takes_all() {
            self.text(line, "(vouches for the lines before it)")?;
        }
        Ok(())
    }

    fn record(&mut self, line: &Line<'_>, record: &Record<'_>) -> io::Result<()> {
        self.records += 1;
        match self.style {
            Style::Text => self.text(line, &record.for_people()),
            Style::Json => {
                let Line { seq, epoch, at, .. } = line;
                let place = format!(r#""seq":{seq},"epoch":{epoch},"at":"{at}""#);
                writeln!(self.out, "{}", record.placed(&place))
            }
        }
    }

    fn text(&mut self, line: &Line<'_>, what: &str) -> io::Result<()> {
        let Line { seq, epoch, at, .. } = line;
        writeln!(self.out, "{seq:>6} {at} e{epoch} {what}")
    }

    /// The format promises objects; what else stands there is shown all the same.
    fn not_a_record(&mut self, line: &Line<'_>, raw: &RawValue) -> io::Result<()> {
        match self.style {
            Style::Text => self.text(
                line,
                &format!("not a record: {}", crate::record::visible(raw.get())),
            ),
            Style::Json => {
                let (seq, raw) = (line.seq, raw.get());
                writeln!(
                    self.out,
                    r#"{{"type":"ledger.damaged","seq":{seq},"found":{raw}}}"#
                )
            }
        }
    }

    fn mark(&mut self, damage: &Damage) -> io::Result<()> {
        match self.style {
            Style::Text => writeln!(self.out, "------ damaged: {damage}"),
            Style::Json => self.object("ledger.damaged", damage),
        }
    }

    fn torn(&mut self, report: &Report) -> io::Result<()> {
        match (&report.torn, self.style) {
            (None, _) => Ok(()),
            (Some(torn), Style::Text) => writeln!(self.out, "------ {torn}"),
            (Some(torn), Style::Json) => self.object("ledger.torn", torn),
        }
    }

    fn object<T: serde::Serialize>(&mut self, kind: &'static str, value: &T) -> io::Result<()> {
        #[derive(serde::Serialize)]
        struct Tagged<'a, T> {
            r#type: &'static str,
            #[serde(flatten)]
            value: &'a T,
        }
        serde_json::to_writer(
            &mut *self.out,
            &Tagged {
                r#type: kind,
                value,
            },
        )?;
        writeln!(self.out)
    }
}
