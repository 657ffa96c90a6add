//! Compactions as the fleet sees them: ordinary requests, and measures that no longer hold.

use super::*;
use engine_core::record::{ContextCompacted, Older};

#[test]
fn what_was_measured_before_a_compaction_bounds_nothing_after_it() {
    let mut bench = Bench::new(vec![task("t", "scout", &[])], |_| {});
    let effect = bench.state.owed().next().unwrap();
    bench.perform(effect, &mut |_| finished());
    let agent = bench.agent(effect);
    let ask = |step: u32, bytes: u64, purpose: Purpose| {
        Input::Admit(Ask {
            agent: agent.clone(),
            step: StepNo(step),
            purpose,
            hash: String::new(),
            bytes,
            told: Vec::new(),
            max_output: Tokens(10),
        })
    };
    let answer = |step: u32| {
        AgentRecord::ModelResponded(engine_core::record::ModelResponded {
            task: agent.task.clone(),
            attempt: agent.attempt,
            step: StepNo(step),
            answer: Json::of("").unwrap(),
            usage: Some(engine_core::message::Usage {
                input: Tokens(100),
                output: Tokens(5),
                cached: Tokens(0),
            }),
        })
    };
    bench.input(ask(1, 1_000, Purpose::Work));
    bench.input(Input::Report(vec![answer(1)]));
    bench.input(ask(2, 1_100, Purpose::Compaction));
    assert_eq!(bench.state.account().reserved, Tokens(210));
    let compacted = AgentRecord::ContextCompacted(ContextCompacted {
        task: agent.task.clone(),
        attempt: agent.attempt,
        kept: 0,
        kept_max: None,
        older: Older::Cut { max: 256 },
        before: 1_000,
        after: 300,
    });
    let line = vec![answer(2), compacted];
    assert_eq!(bench.input(Input::Report(line)), Reply::Accepted);
    bench.input(ask(3, 1_200, Purpose::Work));
    assert_eq!(bench.state.account().reserved, Tokens(1_210));
    let (_, task) = bench.state.find(&agent.task).unwrap();
    assert_eq!(
        task.attempt.as_ref().unwrap().steps,
        3,
        "a summary is a step"
    );
}
