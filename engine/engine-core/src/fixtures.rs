//! Short ways to write answers and records in tests. Never part of the product.

use crate::ids::{AgentId, AttemptNo, CallId, StepNo, Tokens};
use crate::message::{Answer, Arguments, Block, Stop, ToolCall, ToolStatus};
use crate::record::{
    AgentRecord, Billed, Json, ModelFailed, ModelRequested, ModelResponded, ToolFinished,
    ToolStarted, Verdict, VerdictGiven, WorkspaceSnapshotted,
};
use crate::request::Purpose;
use crate::tool::{EffectClass, ToolSpec};

pub(crate) fn agent() -> AgentId {
    AgentId {
        task: "t".parse().expect("a task id"),
        attempt: AttemptNo(1),
    }
}

pub(crate) fn spec(name: &str, effect: EffectClass) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: String::new(),
        parameters: "{}".to_owned(),
        effect,
    }
}

/// One tool of each class, two of the readers.
pub(crate) fn catalog() -> Vec<ToolSpec> {
    vec![
        spec("read", EffectClass::Reads),
        spec("grep", EffectClass::Reads),
        spec("edit", EffectClass::Edits),
        spec("shell", EffectClass::Runs),
        spec("push", EffectClass::Reaches),
    ]
}

pub(crate) fn says(text: &str) -> Answer {
    Answer {
        blocks: vec![Block::Text {
            text: text.to_owned(),
        }],
        stop: Stop::End,
    }
}

pub(crate) fn call(id: &str, name: &str, arguments: &str) -> Block {
    Block::Call(ToolCall {
        id: CallId(id.to_owned()),
        name: name.to_owned(),
        arguments: Arguments::Object(arguments.to_owned()),
    })
}

pub(crate) fn invalid_call(id: &str, name: &str, raw: &str) -> Block {
    Block::Call(ToolCall {
        id: CallId(id.to_owned()),
        name: name.to_owned(),
        arguments: Arguments::Invalid {
            raw: raw.to_owned(),
            error: "EOF at column 9".to_owned(),
        },
    })
}

/// Calls of these (id, tool), with `{}`.
pub(crate) fn calls(calls: &[(&str, &str)]) -> Answer {
    let blocks = calls.iter().map(|(id, name)| call(id, name, "{}"));
    stopped(blocks.collect(), Stop::Calls)
}

pub(crate) fn stopped(blocks: Vec<Block>, stop: Stop) -> Answer {
    Answer { blocks, stop }
}

pub(crate) fn requested(step: u32, told: &[&str]) -> AgentRecord {
    AgentRecord::ModelRequested(ModelRequested {
        task: agent().task,
        attempt: agent().attempt,
        step: StepNo(step),
        purpose: Purpose::Work,
        hash: String::new(),
        bytes: 0,
        told: told.iter().map(|text| (*text).into()).collect(),
        max_output: Tokens(100),
        reserved: Tokens(100),
    })
}

pub(crate) fn responded(step: u32, answer: &Answer) -> AgentRecord {
    AgentRecord::ModelResponded(ModelResponded {
        task: agent().task,
        attempt: agent().attempt,
        step: StepNo(step),
        answer: Json::of(answer).expect("an answer is JSON"),
        usage: None,
    })
}

pub(crate) fn failed(step: u32, kind: &str) -> AgentRecord {
    AgentRecord::ModelFailed(ModelFailed {
        task: agent().task,
        attempt: agent().attempt,
        step: StepNo(step),
        kind: kind.to_owned(),
        message: "no".to_owned(),
        billed: Billed::Nothing,
    })
}

pub(crate) fn started(id: &str, tool: &str, effect: EffectClass) -> AgentRecord {
    AgentRecord::ToolStarted(ToolStarted {
        task: agent().task,
        attempt: agent().attempt,
        call: CallId(id.to_owned()),
        tool: tool.to_owned(),
        effect,
        summary: String::new(),
    })
}

pub(crate) fn finished(id: &str, tool: &str, text: &str) -> AgentRecord {
    AgentRecord::ToolFinished(ToolFinished {
        task: agent().task,
        attempt: agent().attempt,
        call: CallId(id.to_owned()),
        tool: tool.to_owned(),
        status: ToolStatus::Ok,
        text: text.into(),
    })
}

pub(crate) fn snapshotted(tree: &str) -> AgentRecord {
    AgentRecord::WorkspaceSnapshotted(WorkspaceSnapshotted {
        task: agent().task,
        attempt: agent().attempt,
        commit: tree.to_owned(),
        tree: tree.to_owned(),
    })
}

pub(crate) fn judged(findings: &str) -> AgentRecord {
    AgentRecord::VerdictGiven(VerdictGiven {
        task: agent().task,
        attempt: agent().attempt,
        verdict: Verdict::Approve,
        findings: findings.into(),
    })
}
