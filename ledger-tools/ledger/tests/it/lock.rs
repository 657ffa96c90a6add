//! Who may write: locks of the living, and what the dead leave.

use crate::common::{at, create, note, open, read};
use ledger::Left;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use std::process::{Child, Command};

/// A process of the test, ended by its own handle.
struct Sleeper(Child);

impl Drop for Sleeper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// One opening takes over what `lock` says, and reports it as `expected` does.
fn taken_over(lock: &str, expected: impl Fn(&Left) -> bool) {
    let folder = tempfile::tempdir().unwrap();
    let (writer, _) = create(folder.path());
    writer.append(at(1), &[note("a")]).unwrap();
    writer.close().unwrap();
    std::fs::write(folder.path().join("lock"), lock).unwrap();
    let (opened, texts, _) = open(folder.path()).unwrap();
    assert_eq!(texts, ["a"]);
    assert!(
        opened.left.as_ref().is_some_and(expected),
        "{lock}: {:?}",
        opened.left
    );
    opened.writer.append(at(2), &[note("b")]).unwrap();
    opened.writer.close().unwrap();
    assert_eq!(read(folder.path()).unwrap().1.len(), 4);
    let (again, _, _) = open(folder.path()).unwrap();
    assert_eq!(again.left, None, "a clean end leaves nothing");
}

#[test]
fn a_lock_of_the_dead_is_taken_over_and_told() {
    let cannot_exist = r#"{"pid":4194305,"start":1,"boot":"b","host":"h","epoch":3}"#;
    taken_over(
        cannot_exist,
        |left| matches!(left, Left::By(holder) if holder.pid == 4_194_305),
    );
    taken_over("", |left| *left == Left::Unknown);
    taken_over("not a pid", |left| *left == Left::Unknown);
}

#[test]
fn a_reused_pid_is_taken_over_and_its_process_left_alone() {
    let mut sleeper = Sleeper(Command::new("sleep").arg("60").spawn().unwrap());
    let pid = sleeper.0.id();
    let lock = format!(r#"{{"pid":{pid},"start":1}}"#);
    taken_over(
        &lock,
        |left| matches!(left, Left::By(holder) if holder.pid == pid),
    );
    assert!(sleeper.0.try_wait().unwrap().is_none(), "the sleeper lives");
}

#[test]
fn the_lock_names_its_holder_for_people() {
    let folder = tempfile::tempdir().unwrap();
    let (writer, _) = create(folder.path());
    let text = std::fs::read_to_string(folder.path().join("lock")).unwrap();
    let holder: ledger::Holder = serde_json::from_str(&text).unwrap();
    assert_eq!((holder.pid, holder.epoch), (std::process::id(), Some(1)));
    assert!(holder.start.is_some() && holder.boot.is_some() && holder.host.is_some());
    assert_eq!(
        holder.to_string(),
        format!("process {}", std::process::id())
    );
    writer.close().unwrap();
}

#[test]
fn a_holder_on_another_machine_is_named_with_it() {
    let holder: ledger::Holder = serde_json::from_str(r#"{"pid":7,"host":"elsewhere"}"#).unwrap();
    assert_eq!(holder.to_string(), "process 7 on elsewhere");
}

#[test]
fn a_process_that_ended_holds_nothing_even_before_it_is_collected() {
    let folder = tempfile::tempdir().unwrap();
    let mut sleeper = Sleeper(Command::new("sleep").arg("60").spawn().unwrap());
    let pid = sleeper.0.id();
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let start = stat.split(' ').nth(21).unwrap();
    let lock = format!(r#"{{"pid":{pid},"start":{start}}}"#);
    std::fs::write(folder.path().join("lock"), lock).unwrap();
    let holder = || ledger::holder(folder.path()).map(|holder| holder.pid);
    assert_eq!(holder(), Some(pid));

    sleeper.0.kill().unwrap();
    let child = Pid::from_child(&sleeper.0);
    let ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    waitid(WaitId::Pid(child), ended).unwrap();
    assert_eq!(holder(), None);
}
