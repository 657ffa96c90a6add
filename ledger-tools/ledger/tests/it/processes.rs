//! A writer in a process of its own: refused beside it, killed under it, taken over after it.

use crate::common::{Notes, at, note, open, read, texts};
use ledger::{Filesystems, OpenError};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};

const FOLDER: &str = "LEDGER_TEST_FOLDER";
const TEST: &str = "processes::a_killed_writer_loses_nothing_that_it_was_told_to_be_durable";

/// This test again, in a process of its own, as the writer.
struct Writer(Child);

impl Writer {
    fn start(folder: &Path) -> Self {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", TEST, "--nocapture"])
            .env(FOLDER, folder)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Self(child)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Appends for ever, and says on stdout which line is durable.
fn write_until_killed(folder: &Path) {
    let on_durable = Box::new(|word: ledger::Word<'_>| {
        if let ledger::Word::Durable(seq) = word {
            let mut out = std::io::stdout().lock();
            writeln!(out, "durable {seq}").unwrap();
            out.flush().unwrap();
        }
    });
    let writer = ledger::create(folder, Notes, Filesystems::Any, on_durable).unwrap();
    for n in 0.. {
        writer
            .append(at(n), &[note(format!("{n} {}", "x".repeat(3_000)))])
            .unwrap();
        std::thread::yield_now();
    }
}

#[test]
fn a_killed_writer_loses_nothing_that_it_was_told_to_be_durable() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        write_until_killed(Path::new(&folder));
    }
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::start(folder.path());
    let said = BufReader::new(writer.0.stdout.take().unwrap())
        .lines()
        .map_while(Result::ok);
    let mut durable = said.filter_map(|line| line.strip_prefix("durable ")?.parse::<u64>().ok());
    let first = durable.find(|seq| *seq > 20).unwrap();

    let error = open(folder.path()).err().unwrap();
    let OpenError::Held {
        holder: Some(holder),
        ..
    } = error
    else {
        panic!("{error}");
    };
    assert_eq!(holder.pid, writer.0.id());
    assert_eq!(ledger::holder(folder.path()), Some(holder));

    writer.0.kill().unwrap();
    writer.0.wait().unwrap();
    let acknowledged = durable.last().unwrap_or(first);
    assert_eq!(ledger::holder(folder.path()), None);

    let seen = read(folder.path()).unwrap().1.len() as u64;
    assert!(seen >= acknowledged, "{seen} of {acknowledged}");
    let (opened, notes, _) = open(folder.path()).unwrap();
    assert!(opened.left.is_some(), "its end is told");
    for (index, text) in notes.iter().enumerate() {
        assert!(text.starts_with(&format!("{index} ")), "line {}", index + 1);
    }
    opened.writer.append(at(0), &[note("after")]).unwrap();
    opened.writer.close().unwrap();
    let (_, entries) = read(folder.path()).unwrap();
    assert_eq!(texts(&entries).last(), Some(&"after"));
}
