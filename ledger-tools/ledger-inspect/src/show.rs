//! Showing a ledger record by record, past damage, with a mark at every damaged place. Never hides that
//! something is missing, never shows what a torn write left.

use crate::error::InspectError;
use crate::filter::Filter;
use crate::line::Line;
use crate::past::{Item, past_damage};
use crate::record::Record;
use crate::verify::{Damage, Report, Torn};
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
    let mut printer = Printer {
        filter,
        style,
        out,
        records: 0,
    };
    let report = past_damage(path, &mut |item| {
        let written = match item {
            Item::Line(line) => printer.line(line),
            Item::Damage(damage) => printer.mark(damage),
            Item::Torn(torn) => printer.torn(torn),
        };
        written.map_err(InspectError::Write)
    })?;
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

    fn torn(&mut self, torn: &Torn) -> io::Result<()> {
        match self.style {
            Style::Text => writeln!(self.out, "------ {torn}"),
            Style::Json => self.object("ledger.torn", torn),
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
