//! The blobs that a ledger's records refer to: are they there, as long as the records say, and what their
//! names say? Never mends one, never looks at blobs that nothing refers to.

use crate::line::{Line, hex};
use crate::record::Record;
use crate::walk::Place;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// What was found of the blobs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct BlobReport {
    /// How many different ones are referred to.
    pub referenced: u64,
    /// Bytes of them, as the records say.
    pub bytes: u64,
    /// Those that are not what the records say.
    pub damage: Vec<BlobDamage>,
}

/// A blob that is not what a record says of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BlobDamage {
    /// The first line that refers to it.
    pub place: Place,
    /// Its name.
    pub blob: String,
    /// What should be there.
    pub expected: String,
    /// What is there.
    pub found: String,
}

impl std::fmt::Display for BlobDamage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            place,
            blob,
            expected,
            found,
        } = self;
        write!(
            f,
            "blob {blob}: expected {expected}, found {found}; referred to by {place}"
        )
    }
}

/// A reference, as it stands in a record.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BlobRef {
    blob: String,
    bytes: u64,
}

/// All references of a ledger, each blob with the first line that names it.
#[derive(Debug, Default)]
pub(crate) struct References(BTreeMap<String, Reference>);

#[derive(Debug)]
struct Reference {
    bytes: u64,
    place: Place,
}

impl References {
    /// Takes in those of a line.
    pub(crate) fn note(&mut self, line: &Line<'_>, segment: &Path) {
        let mentions = line
            .records
            .iter()
            .filter(|raw| raw.get().contains(r#""blob":"#));
        for record in mentions.filter_map(|raw| Record::read(raw)) {
            for value in record.values() {
                self.note_value(value, line, segment);
            }
        }
    }

    fn note_value(&mut self, value: &str, line: &Line<'_>, segment: &Path) {
        let Ok(BlobRef { blob, bytes }) = serde_json::from_str(value) else {
            return;
        };
        if is_name(&blob) {
            self.0.entry(blob).or_insert_with(|| Reference {
                bytes,
                place: Place {
                    segment: segment.to_owned(),
                    line: line.number,
                    byte: line.byte,
                },
            });
        }
    }

    /// Looks at each of them below `folder`; those first referred to from the byte `end` on do not count.
    pub(crate) fn check(self, folder: &Path, end: u64) -> BlobReport {
        let mut report = BlobReport::default();
        for (blob, reference) in self.0 {
            let Reference { bytes, place } = reference;
            if place.byte >= end {
                continue;
            }
            report.referenced += 1;
            report.bytes += bytes;
            if let Err((expected, found)) = look(folder, &blob, bytes) {
                report.damage.push(BlobDamage {
                    place,
                    blob,
                    expected,
                    found,
                });
            }
        }
        report
            .damage
            .sort_by_key(|damage| (damage.place.byte, damage.blob.clone()));
        report
    }
}

fn is_name(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// What should be there and what is, when they differ.
fn look(folder: &Path, blob: &str, bytes: u64) -> Result<(), (String, String)> {
    let path = folder.join("blobs").join(&blob[..2]).join(&blob[2..]);
    let expected = || format!("{bytes} bytes");
    let (found, sum) = match measured(&path) {
        Ok(measured) => measured,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err((expected(), "no such file".to_owned()));
        }
        Err(error) => return Err((expected(), format!("a file that cannot be read: {error}"))),
    };
    if found != bytes {
        return Err((expected(), format!("{found} bytes")));
    }
    if sum != blob {
        return Err(("its name as its SHA-256".to_owned(), sum));
    }
    Ok(())
}

/// Length and SHA-256 of a file, read in bounded memory.
fn measured(path: &Path) -> io::Result<(u64, String)> {
    let mut file = File::open(path)?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 64 * 1024];
    let mut length = 0;
    loop {
        let read = match file.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        hash.update(&buffer[..read]);
        length += read as u64;
    }
    Ok((length, hex(&hash.finalize())))
}
