//! Every input at every phase: legal or refused, without an effect then.

use super::world::{World, give};
use crate::failure::{FailureClass, ModelFailure};
use crate::fixtures::{calls, says};
use crate::ids::{CallId, Tokens};
use crate::message::ToolStatus;
use crate::record::Billed;
use crate::request::ModelResponse;
use crate::tool::EffectClass;
use crate::turn::{Preparation, Snapshot, ToolEnd, Turn, TurnInput};
use std::fmt::Write as _;

fn admitted() -> TurnInput {
    TurnInput::Admitted {
        max_output: Tokens(9),
    }
}

fn answered(tool: &str) -> TurnInput {
    TurnInput::Answered(ModelResponse {
        answer: if tool.is_empty() {
            says("x")
        } else {
            calls(&[("a", tool)])
        },
        usage: None,
    })
}

fn failed() -> TurnInput {
    TurnInput::ModelFailed(ModelFailure {
        class: FailureClass::Unavailable,
        kind: "x".to_owned(),
        message: "x".to_owned(),
        billed: Billed::Nothing,
    })
}

fn prepared() -> TurnInput {
    TurnInput::Prepared(vec![Preparation::Ready {
        effect: EffectClass::Edits,
        summary: String::new(),
    }])
}

fn finished(call: &str) -> TurnInput {
    TurnInput::ToolFinished {
        call: CallId(call.to_owned()),
        end: ToolEnd::Done {
            status: ToolStatus::Ok,
            text: String::new(),
        },
    }
}

fn inputs() -> Vec<TurnInput> {
    vec![
        TurnInput::Start,
        admitted(),
        TurnInput::Refused {
            reason: "x".to_owned(),
        },
        answered(""),
        failed(),
        TurnInput::Waited,
        prepared(),
        finished("a"),
        TurnInput::Snapshotted(Ok(None::<Snapshot>)),
        TurnInput::Restored(Ok(())),
        TurnInput::Told("x".to_owned()),
        TurnInput::Unsent,
        TurnInput::Cancelled,
    ]
}

/// A machine at each phase.
fn phases() -> Vec<Turn> {
    let asking = || vec![TurnInput::Start, admitted()];
    let calling = || [asking(), vec![answered("edit")]].concat();
    let paths = [
        vec![],
        vec![TurnInput::Start],
        asking(),
        [asking(), vec![failed()]].concat(),
        calling(),
        [calling(), vec![prepared()]].concat(),
        [calling(), vec![prepared(), finished("a")]].concat(),
        [asking(), vec![answered("")]].concat(),
    ];
    let mut machines: Vec<Turn> = paths.map(reach).into();
    let mut crashed = World::new([calls(&[("a", "edit")])]);
    let died = crashed.live(super::world::Fate::Dies(4), &[]);
    assert!(died.is_none(), "it dies when the edit has started");
    let mut restoring = crashed.resume();
    give(&mut restoring, TurnInput::Start);
    machines.insert(7, restoring);
    machines
}

fn reach(path: Vec<TurnInput>) -> Turn {
    let mut turn = World::new([says("")]).resume();
    for input in path {
        give(&mut turn, input);
    }
    turn
}

#[test]
fn every_input_is_legal_or_refused_at_every_phase() {
    let mut table = String::new();
    for machine in phases() {
        let phase = machine.phase.name();
        let mut legal = Vec::new();
        for input in inputs() {
            let mut probe = machine.clone();
            let name = input.name();
            if probe.handle(input).is_ok() {
                legal.push(name);
            } else {
                assert_eq!(probe.phase, machine.phase, "{name} while {phase}");
                assert_eq!(probe.messages(), machine.messages(), "{name} while {phase}");
            }
        }
        writeln!(table, "{phase}: {}", legal.join(", ")).unwrap();
    }
    insta::assert_snapshot!(table, @r"
    not started: start, told, cancelled
    a request waits for admission: admitted, refused, told, cancelled
    the model is being asked: answered, model failed, told, unsent, cancelled
    waiting before a resend: waited, told, cancelled
    calls are being prepared: prepared, told, cancelled
    calls are running: tool finished, told, cancelled
    the workspace is being kept: snapshotted, told, cancelled
    the workspace is being put back: restored, told, cancelled
    the attempt is over: told, cancelled
    ");
}

#[test]
fn what_does_not_belong_to_the_batch_is_refused() {
    let check = |path: Vec<TurnInput>, input: TurnInput, expected: &str| {
        let refused = reach(path).handle(input).expect_err("refused");
        assert_eq!(refused.to_string(), expected);
    };
    let calling = vec![TurnInput::Start, admitted(), answered("edit")];
    let running = [calling.clone(), vec![prepared()]].concat();
    check(
        calling,
        TurnInput::Prepared(vec![]),
        "`prepared` while calls are being prepared",
    );
    check(
        running,
        finished("b"),
        "`tool finished` while calls are running",
    );
}
