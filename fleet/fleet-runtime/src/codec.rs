//! Joins the fleet's vocabulary to the ledger's file. Never changes a record.

use fleet_core::record::Record;
use ledger::{Codec, DecodeError};

/// Reads and writes [`Record`]s.
#[derive(Debug, Clone, Copy, Default)]
pub struct FleetCodec;

impl Codec for FleetCodec {
    type Record = Record;

    fn encode(&self, record: &Record, out: &mut Vec<u8>) {
        record.encode(out);
    }

    fn decode(&self, kind: &str, json: &str) -> Result<Record, DecodeError> {
        use fleet_core::record::DecodeError as Core;
        Record::decode(kind, json).map_err(|error| match error {
            Core::UnknownType(_) => DecodeError::UnknownKind,
            Core::Malformed { source, .. } => DecodeError::Malformed(source.to_string()),
        })
    }
}
