//! Nothing but a queue, one write and one sync: no sums, no lines, no hint. What the disk itself allows.

use crate::waiting::drive;
use crate::{LINE_BYTES, Measured};
use std::io::Write as _;
use std::path::Path;
use std::time::Instant;

pub(crate) fn append(folder: &Path, appenders: usize, lines: u64) -> Measured {
    let mut file = std::fs::File::create(folder.join("bare")).expect("a file can be created");
    let start = Instant::now();
    let syncs = drive(appenders, lines, &[b'x'; LINE_BYTES], |bytes| {
        file.write_all(bytes).expect("the file takes bytes");
        file.sync_data().expect("the file can be synced");
    });
    Measured {
        took: start.elapsed(),
        syncs,
    }
}
