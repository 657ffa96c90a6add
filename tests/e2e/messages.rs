//! A whole fleet on the messages wire, whose model signs its reasoning.

use crate::crew::{ANSWERS, Crew, ends_as, name_of};
use crate::environment::TestEnvironment;
use rustix::process::Signal;
use std::collections::BTreeSet;

fn crew() -> Crew {
    Crew::speaking("anthropic", TestEnvironment::new())
}

#[test]
fn a_fleet_works_on_messages_as_on_chat_completions() {
    let crew = crew();
    ends_as(crew.start().ended(), "done", 0);
    let seen = crew.server.seen();
    assert_eq!(seen.broken_rules, [""; 0]);
    assert!(seen.requests.iter().all(|sent| sent.path == "/v1/messages"));
    let asked: BTreeSet<String> = crew.asked().into_iter().collect();
    assert_eq!(asked, BTreeSet::from(ANSWERS.map(str::to_owned)));
    assert_eq!(crew.asked().len(), ANSWERS.len(), "nothing is asked twice");
}

#[test]
fn a_resume_amid_signed_reasoning_sends_the_same_bytes() {
    let crew = crew();
    crew.hold_answer("alpha/1.3");
    let manager = crew.start();
    crew.wait_until_asked("alpha/1.3", 0);
    manager.signal(Signal::KILL);
    assert_eq!(manager.ended().code, None);
    crew.environment.is_left_by_all();
    crew.give_answer();
    ends_as(crew.resume().ended(), "done", 0);
    let seen = crew.server.seen();
    assert_eq!(seen.broken_rules, [""; 0]);
    let same = seen
        .requests
        .iter()
        .filter(|sent| name_of(sent) == "alpha/1.3");
    let bodies: Vec<&[u8]> = same.map(|sent| sent.body.as_slice()).collect();
    assert_eq!(bodies.len(), 2);
    assert!(bodies[0] == bodies[1], "another body after the resume");
    let body = String::from_utf8_lossy(bodies[0]);
    for signed in ["EqQB/8+=alpha/1.1", "Emw=alpha/1.2"] {
        assert!(body.contains(signed), "{signed} in {body}");
    }
}
