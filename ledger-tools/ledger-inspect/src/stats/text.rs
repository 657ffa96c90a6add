//! Numbers of a ledger for people and for programs. Never counts anything itself.

use super::{EpochStats, Span, Stats, TokenStats};
use crate::record::visible;
use serde::Serialize;
use std::io::{self, Write};

impl Stats {
    /// True when nothing is damaged.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.damage.is_empty()
    }

    /// Writes them for people.
    ///
    /// # Errors
    /// When `out` takes no more.
    pub fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        self.write_file(out)?;
        let records = self.records;
        writeln!(out, "\n{:<28} {:>9} {:>12}", "type", "records", "bytes")?;
        for kind in &self.types {
            let name = visible(&kind.r#type);
            writeln!(out, "{name:<28} {:>9} {:>12}", kind.records, kind.bytes)?;
        }
        writeln!(out, "{:<28} {records:>9}", "all")?;
        self.write_tokens(out)?;
        for damage in &self.damage {
            writeln!(out, "damaged: {damage}")?;
        }
        if let Some(torn) = &self.torn {
            writeln!(out, "{torn}")?;
        }
        Ok(())
    }

    fn write_file(&self, out: &mut dyn Write) -> io::Result<()> {
        let Self {
            bytes,
            lines,
            witnesses,
            longest_line,
            batches,
            ..
        } = self;
        writeln!(out, "{}: {lines} lines, {bytes} bytes", self.path.display())?;
        writeln!(
            out,
            "longest line: {longest_line} bytes; lines that only vouch: {witnesses}"
        )?;
        writeln!(
            out,
            "batches: {}, of {} lines in the middle and {} at most",
            batches.count, batches.median_lines, batches.most_lines
        )?;
        if let Some(Span { first, last }) = &self.span {
            writeln!(out, "from {first} to {last}")?;
        }
        for EpochStats {
            epoch,
            lines,
            first_seq,
            last_seq,
            span,
        } in &self.epochs
        {
            let from = &span.first;
            writeln!(
                out,
                "epoch {epoch}: {lines} lines, {first_seq} to {last_seq}, from {from}"
            )?;
        }
        Ok(())
    }

    fn write_tokens(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.tokens.is_empty() {
            return Ok(());
        }
        for (title, sums) in [
            ("tokens by task", self.tokens.clone()),
            ("tokens by role", self.summed(|row| &row.role)),
            ("tokens by model", self.summed(|row| &row.model)),
        ] {
            write_head(out, title)?;
            for row in sums {
                write_account(out, &row)?;
            }
        }
        let mut all = TokenStats::default();
        self.tokens.iter().for_each(|row| all.add(row));
        writeln!(out, "\ntokens in all: {}", all.total())
    }

    /// The accounts added up by what `name` answers, each named so.
    fn summed(&self, name: impl Fn(&TokenStats) -> &String) -> Vec<TokenStats> {
        let mut sums: Vec<TokenStats> = Vec::new();
        for row in &self.tokens {
            let name = name(row);
            if !sums.iter().any(|sum| sum.task == *name) {
                sums.push(TokenStats {
                    task: name.clone(),
                    ..TokenStats::default()
                });
            }
            if let Some(sum) = sums.iter_mut().find(|sum| sum.task == *name) {
                sum.add(row);
            }
        }
        sums
    }

    /// Writes them as one JSON object, schema `codewhale.ledger.stats/1`.
    ///
    /// # Errors
    /// When `out` takes no more.
    pub fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        #[derive(Serialize)]
        struct Tagged<'a> {
            schema: &'static str,
            sound: bool,
            #[serde(flatten)]
            stats: &'a Stats,
        }
        let tagged = Tagged {
            schema: "codewhale.ledger.stats/1",
            sound: self.is_sound(),
            stats: self,
        };
        serde_json::to_writer(&mut *out, &tagged)?;
        writeln!(out)
    }
}

fn write_account(out: &mut dyn Write, row: &TokenStats) -> io::Result<()> {
    let name = if row.task.is_empty() { "?" } else { &row.task };
    write!(out, "{:<28}", visible(name))?;
    for number in [
        row.requests,
        row.input,
        row.cached,
        row.output,
        row.unreported,
        row.open,
    ] {
        write!(out, " {number:>9}")?;
    }
    writeln!(out)
}

fn write_head(out: &mut dyn Write, title: &str) -> io::Result<()> {
    write!(out, "\n{title:<28}")?;
    for cell in ["requests", "input", "cached", "output", "lost", "open"] {
        write!(out, " {cell:>9}")?;
    }
    writeln!(out)
}
