//! One line, read on its own: its fields, the sum it states, and the sum it should have after another.
//! Never knows which line stood before.

use crate::pieces::{LINE_MAX_BYTES, Piece};
use serde::Deserialize;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

/// The format that this program knows.
pub(crate) const KNOWN_FORMAT: u64 = 1;

/// Length of `,"sum":"<32 hex>"}`.
const SUFFIX: usize = r#","sum":""}"#.len() + 32;

/// The fields of a line. Their order is checked beside.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Fields<'a> {
    v: u64,
    seq: u64,
    epoch: u64,
    dw: u64,
    at: &'a str,
    #[serde(borrow)]
    records: Vec<&'a RawValue>,
    sum: &'a str,
}

/// A line that has the right shape. Whether its sum follows is another question.
#[derive(Debug)]
pub(crate) struct Line<'a> {
    pub(crate) seq: u64,
    pub(crate) epoch: u64,
    pub(crate) dw: u64,
    pub(crate) at: &'a str,
    pub(crate) records: Vec<&'a RawValue>,
    pub(crate) sum: &'a str,
    /// The bytes that the sum covers.
    pub(crate) body: &'a [u8],
    /// Which line of the file it is.
    pub(crate) number: u64,
    /// Where it begins.
    pub(crate) byte: u64,
    /// Its length, line feed included.
    pub(crate) length: u64,
}

/// Why a piece is no line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NoLine {
    Empty,
    TooLong(u64),
    Nul,
    NotUtf8,
    /// Another format, said by its beginning.
    Format(u64),
    /// Not the fields of a line; says what is wrong.
    Fields(String),
}

impl std::fmt::Display for NoLine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Empty => f.write_str("an empty line"),
            Self::TooLong(bytes) => write!(f, "{bytes} bytes without a line feed"),
            Self::Nul => f.write_str("NUL bytes"),
            Self::NotUtf8 => f.write_str("bytes that are not UTF-8"),
            Self::Format(found) => write!(f, "format {found}"),
            Self::Fields(why) => f.write_str(why),
        }
    }
}

/// Reads a piece as a line.
pub(crate) fn read<'a>(piece: &Piece<'a>) -> Result<Line<'a>, NoLine> {
    let bytes = piece.bytes;
    if piece.length > LINE_MAX_BYTES {
        return Err(NoLine::TooLong(piece.length));
    }
    if bytes.is_empty() {
        return Err(NoLine::Empty);
    }
    if bytes.contains(&0) {
        return Err(NoLine::Nul);
    }
    let text = std::str::from_utf8(bytes).map_err(|_| NoLine::NotUtf8)?;
    match leading_format(bytes) {
        Some(KNOWN_FORMAT) | None => {}
        Some(other) => return Err(NoLine::Format(other)),
    }
    let fields: Fields<'a> =
        serde_json::from_str(text).map_err(|error| NoLine::Fields(error.to_string()))?;
    let out_of_shape = || NoLine::Fields("fields out of their order or spelling".to_owned());
    let (body, sum) = parted(bytes).ok_or_else(out_of_shape)?;
    let Fields {
        v,
        seq,
        epoch,
        dw,
        at,
        ..
    } = fields;
    let head =
        format!(r#"{{"v":{v},"seq":{seq},"epoch":{epoch},"dw":{dw},"at":"{at}","records":["#);
    if !(text.starts_with(&head) && body.ends_with(b"]") && sum == fields.sum && is_instant(at)) {
        return Err(out_of_shape());
    }
    Ok(Line {
        seq,
        epoch,
        dw,
        at,
        records: fields.records,
        sum,
        body,
        number: piece.number,
        byte: piece.byte,
        length: piece.length,
    })
}

/// The format that bytes begin with, if they begin with one.
pub(crate) fn leading_format(bytes: &[u8]) -> Option<u64> {
    let rest = bytes.strip_prefix(br#"{"v":"#)?;
    let end = rest.iter().position(|byte| matches!(byte, b',' | b'}'))?;
    let number = &rest[..end];
    let is_plain = number.iter().all(u8::is_ascii_digit);
    let is_padded = number.len() > 1 && number.starts_with(b"0");
    let number = std::str::from_utf8(number).ok()?;
    (is_plain && !is_padded).then(|| number.parse().ok())?
}

/// A piece parted into what its sum covers and the sum it states, whatever else is wrong with it.
pub(crate) fn parted(bytes: &[u8]) -> Option<(&[u8], &str)> {
    let (body, suffix) = bytes.split_at(bytes.len().checked_sub(SUFFIX)?);
    let stated = suffix
        .strip_prefix(br#","sum":""#)?
        .strip_suffix(br#""}"#)?;
    let stated = std::str::from_utf8(stated).ok()?;
    is_sum(stated).then_some((body, stated))
}

/// The sum of `body` after a line with the sum `before`; `before` is empty for the first line.
pub(crate) fn sum_after(before: &str, body: &[u8]) -> String {
    let hash = Sha256::new()
        .chain_update(before)
        .chain_update(body)
        .finalize();
    hex(&hash[..16])
}

/// Bytes as lower-case hex digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let digit =
        |value: u8| char::from_digit(u32::from(value), 16).expect("four bits are one digit");
    bytes
        .iter()
        .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)])
        .collect()
}

fn is_sum(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// True for the 24 bytes of `2026-11-30T12:31:08.114Z`, whatever the digits.
fn is_instant(text: &str) -> bool {
    const SHAPE: &[u8] = b"0000-00-00T00:00:00.000Z";
    text.len() == SHAPE.len()
        && text.bytes().zip(SHAPE).all(|(byte, shape)| match shape {
            b'0' => byte.is_ascii_digit(),
            mark => byte == *mark,
        })
}
