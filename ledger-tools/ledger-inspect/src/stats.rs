//! What a ledger holds in numbers: lines, records, epochs, batches, time, and tokens by whom. Past damage, of
//! what is whole, saying so. Never judges a record; of its types it knows only those that speak of tokens.

mod text;
mod tokens;

pub use tokens::TokenStats;

use crate::error::InspectError;
use crate::filter::Filter;
use crate::line::Line;
use crate::past::{Item, past_damage};
use crate::record::Record;
use crate::verify::{Damage, Torn};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tokens::Book;

/// What a ledger holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Stats {
    /// The segment that was read.
    pub path: PathBuf,
    /// Bytes of the file.
    pub bytes: u64,
    /// Whole lines.
    pub lines: u64,
    /// Of these, lines that only vouch for those before them.
    pub witnesses: u64,
    /// Bytes of the longest line.
    pub longest_line: u64,
    /// Records that the filter takes.
    pub records: u64,
    /// From the first whole line to the last. The clock may have jumped.
    pub span: Option<Span>,
    /// One for each holding of the lock that wrote.
    pub epochs: Vec<EpochStats>,
    /// What reached the disk together, by what the lines say.
    pub batches: Batches,
    /// By type, the most bytes first.
    pub types: Vec<KindStats>,
    /// Tokens of each task that asked a model, in the order of their first request.
    pub tokens: Vec<TokenStats>,
    /// Every damaged place: nothing of what stood there is counted.
    pub damage: Vec<Damage>,
    /// An end that was never acknowledged; not counted.
    pub torn: Option<Torn>,
}

/// First and last instant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Span {
    /// Of the first line.
    pub first: String,
    /// Of the last.
    pub last: String,
}

/// One holding of the lock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EpochStats {
    /// Its number.
    pub epoch: u64,
    /// Its lines.
    pub lines: u64,
    /// Number of the first.
    pub first_seq: u64,
    /// Number of the last.
    pub last_seq: u64,
    /// When it wrote.
    pub span: Span,
}

/// Lines that were written and synced together: consecutive ones of one epoch with the same watermark.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Batches {
    /// How many: as many syncs.
    pub count: u64,
    /// Lines of the largest.
    pub most_lines: u64,
    /// Lines of the middle one.
    pub median_lines: u64,
}

/// Records of one type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KindStats {
    /// The type.
    pub r#type: String,
    /// How many.
    pub records: u64,
    /// Bytes of their JSON.
    pub bytes: u64,
}

/// Counts the ledger at `path`, a run's folder or a segment; records and tokens only as far as `filter` takes
/// them, lines and batches always.
///
/// # Errors
/// When there is no ledger, it is of a newer format, or it cannot be read.
pub fn stats(path: &Path, filter: &Filter) -> Result<Stats, InspectError> {
    let mut count = Count::default();
    let report = past_damage(path, &mut |item| {
        if let Item::Line(line) = item {
            count.line(line, filter);
        }
        Ok(())
    })?;
    let batches = count.batches();
    let mut types: Vec<KindStats> = count.types.into_values().collect();
    types.sort_by(|a, b| (b.bytes, &a.r#type).cmp(&(a.bytes, &b.r#type)));
    Ok(Stats {
        path: report.path,
        bytes: report.bytes,
        lines: count.lines,
        witnesses: count.witnesses,
        longest_line: count.longest,
        records: types.iter().map(|kind| kind.records).sum(),
        span: count.span,
        epochs: count.epochs,
        batches,
        types,
        tokens: count.book.closed(),
        damage: report.damage,
        torn: report.torn,
    })
}

#[derive(Default)]
struct Count {
    lines: u64,
    witnesses: u64,
    longest: u64,
    span: Option<Span>,
    epochs: Vec<EpochStats>,
    /// Lines of each batch so far.
    batch_sizes: Vec<u64>,
    /// Epoch and watermark of the last line.
    last_batch: Option<(u64, u64)>,
    types: BTreeMap<String, KindStats>,
    book: Book,
}

impl Count {
    fn line(&mut self, line: &Line<'_>, filter: &Filter) {
        self.lines += 1;
        self.witnesses += u64::from(line.records.is_empty());
        self.longest = self.longest.max(line.length);
        stretch(&mut self.span, line);
        self.epoch(line);
        let batch = Some((line.epoch, line.dw));
        match self.batch_sizes.last_mut() {
            Some(size) if self.last_batch == batch => *size += 1,
            _ => self.batch_sizes.push(1),
        }
        self.last_batch = batch;
        for record in line.records.iter().filter_map(|raw| Record::read(raw)) {
            self.book.note(&record, filter);
            if filter.takes(&record) {
                self.record(&record);
            }
        }
    }

    fn epoch(&mut self, line: &Line<'_>) {
        match self.epochs.last_mut() {
            Some(last) if last.epoch == line.epoch => {
                last.lines += 1;
                last.last_seq = line.seq;
                line.at.clone_into(&mut last.span.last);
            }
            _ => self.epochs.push(EpochStats {
                epoch: line.epoch,
                lines: 1,
                first_seq: line.seq,
                last_seq: line.seq,
                span: Span::at(line.at),
            }),
        }
    }

    fn record(&mut self, record: &Record<'_>) {
        let kind = record.kind().unwrap_or_default();
        let stats = self.types.entry(kind.clone()).or_insert(KindStats {
            r#type: kind,
            records: 0,
            bytes: 0,
        });
        stats.records += 1;
        stats.bytes += record.raw().len() as u64;
    }

    fn batches(&mut self) -> Batches {
        let sizes = &mut self.batch_sizes;
        sizes.sort_unstable();
        Batches {
            count: sizes.len() as u64,
            most_lines: sizes.last().copied().unwrap_or(0),
            median_lines: sizes.get(sizes.len() / 2).copied().unwrap_or(0),
        }
    }
}

impl Span {
    fn at(at: &str) -> Self {
        Self {
            first: at.to_owned(),
            last: at.to_owned(),
        }
    }
}

fn stretch(span: &mut Option<Span>, line: &Line<'_>) {
    match span {
        Some(span) => line.at.clone_into(&mut span.last),
        None => *span = Some(Span::at(line.at)),
    }
}
