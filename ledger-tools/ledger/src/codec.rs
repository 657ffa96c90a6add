//! What a record is, said by whoever uses the ledger: the codec, and a line's records decoded by it.
//! Never knows a record type itself.

use crate::format::{Epoch, Seq};
use crate::line::Envelope;
use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// Turns records into JSON objects and back.
pub trait Codec: Send + 'static {
    /// One record.
    type Record: Send + 'static;

    /// Appends the record as one JSON object on one line, with its kind in the field `type`.
    fn encode(&self, record: &Self::Record, out: &mut Vec<u8>);

    /// Reads the JSON object of a record whose `type` is `kind`.
    ///
    /// # Errors
    /// [`DecodeError::UnknownKind`] for a `kind` that this program does not know, so that a record
    /// marked `"ignorable":true` can be passed over; [`DecodeError::Malformed`] for anything else.
    fn decode(&self, kind: &str, json: &str) -> Result<Self::Record, DecodeError>;
}

/// Why a record could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The codec does not know its type.
    #[error("its type is not known")]
    UnknownKind,
    /// The type is known, its fields do not fit; says which.
    #[error("{0}")]
    Malformed(String),
}

/// One line of the ledger, read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry<R> {
    /// Number of the line.
    pub seq: Seq,
    /// Which holding of the lock wrote it.
    pub epoch: Epoch,
    /// The last line that was known to be on disk when this one was formed.
    pub durable: Seq,
    /// When it was recorded, to the millisecond. The clock may have jumped: never an order.
    pub at: DateTime<Utc>,
    /// Its records, in order. None: the line only witnesses that those before it are durable.
    pub records: Vec<R>,
    /// The JSON of its records that are marked ignorable and whose type the codec does not know.
    pub ignored: Vec<String>,
}

/// Why the records of a whole line could not be read.
#[derive(Debug)]
pub(crate) enum Unreadable {
    /// A type that the codec does not know.
    Unknown(String),
    /// A known type with fields that do not fit.
    Malformed { kind: String, reason: String },
    /// Not a list of objects with a `type`.
    NotRecords(serde_json::Error),
}

#[derive(Deserialize)]
struct Tag<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(default)]
    ignorable: bool,
}

/// Decodes the records of a line.
pub(crate) fn decode<C: Codec>(
    codec: &C,
    envelope: &Envelope<'_>,
) -> Result<Entry<C::Record>, Unreadable> {
    let raws: Vec<&RawValue> =
        serde_json::from_str(envelope.records).map_err(Unreadable::NotRecords)?;
    let mut records = Vec::with_capacity(raws.len());
    let mut ignored = Vec::new();
    for raw in raws {
        match decode_one(codec, raw.get())? {
            Some(record) => records.push(record),
            None => ignored.push(raw.get().to_owned()),
        }
    }
    let Envelope {
        seq,
        epoch,
        durable,
        at,
        ..
    } = *envelope;
    Ok(Entry {
        seq,
        epoch,
        durable,
        at,
        records,
        ignored,
    })
}

/// `None` for an unknown record that may be ignored.
fn decode_one<C: Codec>(codec: &C, json: &str) -> Result<Option<C::Record>, Unreadable> {
    let kind = match leading_kind(json) {
        Some(kind) => Cow::Borrowed(kind),
        None => tag(json)?.kind,
    };
    match codec.decode(&kind, json) {
        Ok(record) => Ok(Some(record)),
        Err(DecodeError::UnknownKind) if tag(json)?.ignorable => Ok(None),
        Err(DecodeError::UnknownKind) => Err(Unreadable::Unknown(kind.into_owned())),
        Err(DecodeError::Malformed(reason)) => Err(Unreadable::Malformed {
            kind: kind.into_owned(),
            reason,
        }),
    }
}

/// The type of a record that begins with it, as ours do: saves reading the object twice.
fn leading_kind(json: &str) -> Option<&str> {
    let rest = json.strip_prefix(r#"{"type":""#)?;
    let kind = &rest[..rest.find('"')?];
    (!kind.contains('\\')).then_some(kind)
}

fn tag(json: &str) -> Result<Tag<'_>, Unreadable> {
    serde_json::from_str(json).map_err(Unreadable::NotRecords)
}

/// The product version that the first record of the first line names in its field `version`: said
/// beside a refusal of what this program does not know.
pub(crate) fn writer_version(records: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Versioned {
        version: Option<String>,
    }
    let raws: Vec<&RawValue> = serde_json::from_str(records).ok()?;
    serde_json::from_str::<Versioned>(raws.first()?.get())
        .ok()?
        .version
}
