//! SQLite as its careful users set it: write-ahead log, full sync, one transaction for all that is queued, one
//! prepared statement.

use crate::waiting::drive;
use crate::{LINE_BYTES, Measured};
use rusqlite::Connection;
use std::path::Path;
use std::time::Instant;

pub(crate) fn append(folder: &Path, appenders: usize, lines: u64) -> Measured {
    let mut database = Connection::open(folder.join("lines.db")).expect("a database can be made");
    database
        .execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
             CREATE TABLE lines (seq INTEGER PRIMARY KEY, line TEXT NOT NULL);",
        )
        .expect("it can be set up");
    let start = Instant::now();
    let syncs = drive(appenders, lines, &[b'x'; LINE_BYTES], |bytes| {
        let batch = database.transaction().expect("a transaction begins");
        {
            let mut insert = batch
                .prepare_cached("INSERT INTO lines (line) VALUES (?1)")
                .expect("a statement");
            for line in bytes.chunks(LINE_BYTES) {
                let text = std::str::from_utf8(line).expect("a line is text");
                insert.execute([text]).expect("a row is taken");
            }
        }
        batch.commit().expect("it is committed");
    });
    Measured {
        took: start.elapsed(),
        syncs,
    }
}
