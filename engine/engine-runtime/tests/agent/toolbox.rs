//! The real toolbox in the loop: files of a temporary folder, no command.

use super::fakes::{Bench, answers, call, calls, finished, pairs};
use engine_core::message::{Block, Stop};
use engine_core::record::AgentRecord;
use engine_core::tool::{Access, EffectClass};
use engine_runtime::Tools;
use engine_tools::shell::{HelperProgram, ShellRunner, Spawner};
use engine_tools::{Toolbox, ToolboxSpec};
use std::sync::Arc;

fn toolbox(root: &std::path::Path, access: Access) -> Arc<Toolbox> {
    let nobody = HelperProgram::at("no-such-helper".into());
    let runner = ShellRunner::new(Spawner::start(nobody).unwrap());
    let spec = ToolboxSpec::new(root.to_owned(), access, runner);
    Arc::new(Toolbox::new(spec).unwrap())
}

async fn run(bench: &Bench, tools: Arc<dyn Tools>) {
    let end = bench.run_with(bench.model.clone(), tools, &[]).await;
    assert_eq!(end, finished("done"));
}

fn write(id: &str, text: &str) -> Block {
    let arguments = format!(r#"{{"path":"a.txt","content":"{text}"}}"#);
    call(id, "write", &arguments)
}

#[tokio::test]
async fn a_written_file_can_be_read_in_the_same_answer() {
    let folder = tempfile::tempdir().unwrap();
    let read = call("2", "read", r#"{"path":"a.txt"}"#);
    let bench = Bench::new([answers(vec![write("1", "one"), read], Stop::Calls)]);
    run(&bench, toolbox(folder.path(), Access::Write)).await;
    assert_eq!(bench.results()[1], ("2".to_owned(), "one\n".to_owned()));
    let text = std::fs::read_to_string(folder.path().join("a.txt")).unwrap();
    assert_eq!(text, "one");
    assert_eq!(*bench.snapshots.taken.lock().unwrap(), 1);
    let records = bench.journal.records();
    let started = records.iter().find_map(|record| match record {
        AgentRecord::ToolStarted(started) => Some((started.effect, started.summary.as_str())),
        _ => None,
    });
    assert_eq!(started, Some((EffectClass::Edits, "a.txt")));
}

#[tokio::test]
async fn a_reader_has_no_tool_that_writes() {
    let folder = tempfile::tempdir().unwrap();
    let bench = Bench::new([answers(vec![write("1", "one")], Stop::Calls)]);
    run(&bench, toolbox(folder.path(), Access::Read)).await;
    assert!(bench.results()[0].1.contains("there is no tool `write`"));
    assert!(!folder.path().join("a.txt").exists());
}

#[tokio::test]
async fn arguments_that_do_not_fit_are_refused_before_anything_starts() {
    let folder = tempfile::tempdir().unwrap();
    let bench = Bench::new([calls(&[("1", "read")])]);
    run(&bench, toolbox(folder.path(), Access::Write)).await;
    let started = |record: &AgentRecord| matches!(record, AgentRecord::ToolStarted(_));
    assert!(!bench.journal.records().iter().any(started));
    let refused = bench.results();
    assert!(refused[0].1.contains("path"), "{refused:?}");
    assert_ne!(refused, pairs(&[("1", "(no output)")]));
}
