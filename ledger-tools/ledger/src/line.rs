//! One line as bytes: forming it, and taking its envelope apart by the fixed order of its fields.
//! Never decodes a record, never knows which line stood before.

use crate::at::{AT_BYTES, read_at, write_at};
use crate::format::{Epoch, FORMAT, SUM_BYTES, Seq, Sum};
use chrono::{DateTime, Utc};
use std::io::Write as _;

const SUM_KEY: &[u8] = br#","sum":""#;
const SUM_END: &[u8] = br#""}"#;
/// Length of `,"sum":"<32 hex>"}`.
const SUFFIX_BYTES: usize = SUM_KEY.len() + SUM_BYTES + SUM_END.len();

/// A line that is about to be formed.
#[derive(Debug)]
pub(crate) struct NewLine<'a> {
    pub(crate) seq: Seq,
    pub(crate) epoch: Epoch,
    /// The last line known to be on disk now.
    pub(crate) durable: Seq,
    pub(crate) at: DateTime<Utc>,
    /// The records' JSON objects, separated by commas.
    pub(crate) records: &'a [u8],
}

impl NewLine<'_> {
    /// Appends the line with its line feed; answers its sum.
    pub(crate) fn form(&self, before: Option<&Sum>, out: &mut Vec<u8>) -> Sum {
        const INFALLIBLE: &str = "writing to a Vec cannot fail";
        let start = out.len();
        let Self {
            seq,
            epoch,
            durable,
            at,
            records,
        } = self;
        write!(
            out,
            r#"{{"v":{FORMAT},"seq":{seq},"epoch":{epoch},"dw":{durable},"at":""#
        )
        .expect(INFALLIBLE);
        write_at(out, *at);
        out.extend_from_slice(br#"","records":["#);
        out.extend_from_slice(records);
        out.push(b']');
        let sum = Sum::chained(before, &out[start..]);
        out.extend_from_slice(SUM_KEY);
        out.extend_from_slice(sum.as_bytes());
        out.extend_from_slice(SUM_END);
        out.push(b'\n');
        sum
    }
}

/// What stands round the records of a line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Envelope<'a> {
    pub(crate) seq: Seq,
    pub(crate) epoch: Epoch,
    pub(crate) durable: Seq,
    pub(crate) at: DateTime<Utc>,
    /// The JSON list of records, brackets included; not looked into.
    pub(crate) records: &'a str,
}

/// Why a line's envelope cannot be taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Misfit {
    /// Its `v` is not ours.
    Version(u64),
    /// It is not what a line must look like; names the part.
    Shape(&'static str),
}

/// Parts a line, without its line feed, into the bytes before `,"sum":` and the sum.
pub(crate) fn split(line: &[u8]) -> Option<(&[u8], Sum)> {
    let (body, suffix) = line.split_at_checked(line.len().checked_sub(SUFFIX_BYTES)?)?;
    let digits = suffix.strip_prefix(SUM_KEY)?.strip_suffix(SUM_END)?;
    Some((body, Sum::parse(digits)?))
}

/// The `v` that a line begins with, when it begins like a line at all. Not of one that is cut within the
/// number: it may have been longer.
pub(crate) fn version(line: &[u8]) -> Option<u64> {
    let mut cursor = Cursor(line);
    let version = cursor.number(br#"{"v":"#)?;
    matches!(cursor.0.first(), Some(b',' | b'}')).then_some(version)
}

/// True when `line` begins like the first line of a ledger, as far as it goes. What a torn write left
/// of one begins so, or with the NULs of a page that never reached the disk.
pub(crate) fn may_be_torn_first(line: &[u8]) -> bool {
    let first = format!(r#"{{"v":{FORMAT},"seq":1,"#);
    let common = line.len().min(first.len());
    common > 0 && line[..common] == first.as_bytes()[..common] || line.first() == Some(&0)
}

/// Takes the body of a line apart.
pub(crate) fn envelope(body: &[u8]) -> Result<Envelope<'_>, Misfit> {
    let mut cursor = Cursor(body);
    let version = cursor.number(br#"{"v":"#).ok_or(Misfit::Shape("v"))?;
    if version != FORMAT {
        return Err(Misfit::Version(version));
    }
    let seq = cursor.number(br#","seq":"#).ok_or(Misfit::Shape("seq"))?;
    let epoch = cursor
        .number(br#","epoch":"#)
        .ok_or(Misfit::Shape("epoch"))?;
    let epoch = u32::try_from(epoch).map_err(|_| Misfit::Shape("epoch"))?;
    let durable = cursor.number(br#","dw":"#).ok_or(Misfit::Shape("dw"))?;
    let at = cursor.instant(br#","at":""#).ok_or(Misfit::Shape("at"))?;
    let list = cursor
        .rest(br#"","records":"#)
        .ok_or(Misfit::Shape("records"))?;
    let records = std::str::from_utf8(list).map_err(|_| Misfit::Shape("UTF-8 text"))?;
    if !(records.starts_with('[') && records.ends_with(']') && records.len() >= 2) {
        return Err(Misfit::Shape("records"));
    }
    Ok(Envelope {
        seq: Seq(seq),
        epoch: Epoch(epoch),
        durable: Seq(durable),
        at,
        records,
    })
}

/// The part of a body that is still to be read.
struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    /// `key`, then a number without leading zeros.
    fn number(&mut self, key: &[u8]) -> Option<u64> {
        let rest = self.0.strip_prefix(key)?;
        let length = rest.iter().take_while(|b| b.is_ascii_digit()).count();
        let (digits, rest) = rest.split_at(length);
        if digits.len() > 1 && digits[0] == b'0' {
            return None;
        }
        self.0 = rest;
        std::str::from_utf8(digits).ok()?.parse().ok()
    }

    /// `key`, then an instant.
    fn instant(&mut self, key: &[u8]) -> Option<DateTime<Utc>> {
        let (text, rest) = self.0.strip_prefix(key)?.split_at_checked(AT_BYTES)?;
        self.0 = rest;
        read_at(text)
    }

    /// `key`, then all that is left.
    fn rest(&mut self, key: &[u8]) -> Option<&'a [u8]> {
        self.0.strip_prefix(key)
    }
}

#[cfg(test)]
mod tests;
