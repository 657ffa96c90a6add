//! The records of a ledger as a table for other programs, past damage, with a row for every damaged place.
//! Never changes what a record says: each row ends in the record as it stands.

use crate::error::InspectError;
use crate::filter::Filter;
use crate::line::Line;
use crate::past::{Item, past_damage};
use crate::record::Record;
use crate::show::Shown;
use std::io::{self, Write};
use std::path::Path;

/// The first row.
const HEADER: &str = "seq,epoch,at,type,task,attempt,step,call,record";

/// Writes the records of the ledger at `path` that `filter` takes as comma-separated values (RFC 4180, lines
/// ended by LF), one row a record.
///
/// # Errors
/// When there is no ledger, it is of a newer format (what stands before is written), it cannot be read, or
/// `out` takes no more.
pub fn export_csv(
    path: &Path,
    filter: &Filter,
    out: &mut dyn Write,
) -> Result<Shown, InspectError> {
    writeln!(out, "{HEADER}").map_err(InspectError::Write)?;
    let mut records = 0;
    let report = past_damage(path, &mut |item| {
        let written = match item {
            Item::Line(line) => rows(line, filter, out).map(|written| records += written),
            Item::Damage(damage) => mark(out, "ledger.damaged", &damage.to_string()),
            Item::Torn(torn) => mark(out, "ledger.torn", &torn.to_string()),
        };
        written.map_err(InspectError::Write)
    })?;
    Ok(Shown { records, report })
}

fn rows(line: &Line<'_>, filter: &Filter, out: &mut dyn Write) -> io::Result<u64> {
    let mut written = 0;
    for record in line.records.iter().filter_map(|raw| Record::read(raw)) {
        if filter.takes(&record) {
            row(line, &record, out)?;
            written += 1;
        }
    }
    Ok(written)
}

fn row(line: &Line<'_>, record: &Record<'_>, out: &mut dyn Write) -> io::Result<()> {
    let number = |name| {
        record
            .number(name)
            .map_or_else(String::new, |number| number.to_string())
    };
    let cells = [
        line.seq.to_string(),
        line.epoch.to_string(),
        line.at.to_owned(),
        record.kind().unwrap_or_default(),
        record.task().unwrap_or_default(),
        number("attempt"),
        number("step"),
        record.text("call").unwrap_or_default(),
        record.raw().to_owned(),
    ];
    write_row(out, &cells)
}

/// A damaged place: its type, and what is wrong in place of the record.
fn mark(out: &mut dyn Write, kind: &str, what: &str) -> io::Result<()> {
    let empty = String::new;
    let cells = [
        empty(),
        empty(),
        empty(),
        kind.to_owned(),
        empty(),
        empty(),
        empty(),
        empty(),
        what.to_owned(),
    ];
    write_row(out, &cells)
}

fn write_row(out: &mut dyn Write, cells: &[String]) -> io::Result<()> {
    let quoted: Vec<String> = cells.iter().map(|cell| quote(cell)).collect();
    writeln!(out, "{}", quoted.join(","))
}

fn quote(cell: &str) -> String {
    if cell.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell.to_owned()
    }
}
