//! Brings an answer into the form in which it is recorded, and that into the form in which it is
//! sent back. Never drops anything a reader of the ledger could miss: only blank parts.

use crate::ids::CallId;
use crate::message::{Answer, Arguments, Block, ToolCall};
use std::collections::BTreeSet;

/// Longest tool name that providers take back, in bytes.
const NAME_MAX_BYTES: usize = 64;

/// The call ids an attempt has used. Providers send ids that are doubled, empty or used again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct CallIds(BTreeSet<String>);

impl CallIds {
    /// The id itself when it is new, else one derived from it; the same for the same history.
    fn claim(&mut self, sent: &str) -> CallId {
        let base = if sent.trim().is_empty() {
            format!("call_{}", self.0.len() + 1)
        } else {
            sent.to_owned()
        };
        let mut id = base.clone();
        let mut copy = 2;
        while !self.0.insert(id.clone()) {
            id = format!("{base}_{copy}");
            copy += 1;
        }
        CallId(id)
    }
}

/// The form that is recorded: call ids unique and not empty, blank texts gone. Applied to its own
/// result it changes nothing.
pub(crate) fn recordable(answer: Answer, ids: &mut CallIds) -> Answer {
    let blocks = answer
        .blocks
        .into_iter()
        .filter(has_substance)
        .map(|block| match block {
            Block::Call(call) => Block::Call(ToolCall {
                id: ids.claim(&call.id.0),
                ..call
            }),
            other => other,
        })
        .collect();
    Answer { blocks, ..answer }
}

fn has_substance(block: &Block) -> bool {
    match block {
        Block::Text { text } => !text.trim().is_empty(),
        Block::Reasoning { text, signed } => signed.is_some() || !text.trim().is_empty(),
        Block::Call(_) => true,
    }
}

/// The form in which it stands in later requests: arguments are JSON objects and names are such
/// that providers take them back. `None` when nothing is left to send: reasoning alone is no turn.
pub(crate) fn sendable(answer: &Answer) -> Option<Answer> {
    let speaks = answer
        .blocks
        .iter()
        .any(|block| !matches!(block, Block::Reasoning { .. }));
    let blocks = answer.blocks.iter().map(|block| match block {
        Block::Call(call) => Block::Call(ToolCall {
            id: call.id.clone(),
            name: sendable_name(&call.name),
            arguments: match &call.arguments {
                Arguments::Object(text) => Arguments::Object(text.clone()),
                Arguments::Invalid { .. } => Arguments::Object("{}".to_owned()),
            },
        }),
        other => other.clone(),
    });
    speaks.then(|| Answer {
        blocks: blocks.collect(),
        stop: answer.stop,
    })
}

/// Providers refuse a whole conversation for one name outside `[A-Za-z0-9_-]{1,64}`.
fn sendable_name(name: &str) -> String {
    let safe: String = name
        .chars()
        .map(|c| match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '-' => c,
            _ => '_',
        })
        .take(NAME_MAX_BYTES)
        .collect();
    if safe.is_empty() {
        "unnamed".to_owned()
    } else {
        safe
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Stop;

    fn call(id: &str) -> Block {
        named(id, "read")
    }

    fn named(id: &str, name: &str) -> Block {
        Block::Call(ToolCall {
            id: CallId(id.to_owned()),
            name: name.to_owned(),
            arguments: Arguments::Object("{}".to_owned()),
        })
    }

    fn text(text: &str) -> Block {
        Block::Text {
            text: text.to_owned(),
        }
    }

    fn answer(blocks: Vec<Block>) -> Answer {
        Answer {
            blocks,
            stop: Stop::Calls,
        }
    }

    #[test]
    fn call_ids_become_unique_and_stay_so_when_read_back() {
        let check = |answers: &[&[&str]], expected: &[&str]| {
            let mut ids = CallIds::default();
            let mut again = CallIds::default();
            let mut found = Vec::new();
            for sent in answers {
                let raw = answer(sent.iter().map(|id| call(id)).collect());
                let recorded = recordable(raw, &mut ids);
                found.extend(recorded.calls().map(|call| call.id.0.clone()));
                assert_eq!(recordable(recorded.clone(), &mut again), recorded);
            }
            assert_eq!(found, expected, "{answers:?}");
        };
        check(&[&["a", "b"]], &["a", "b"]);
        check(&[&["call_1", "call_1"]], &["call_1", "call_1_2"]);
        check(&[&["", " "]], &["call_1", "call_2"]);
        check(&[&["shell:0"], &["shell:0"]], &["shell:0", "shell:0_2"]);
        check(&[&["a", "a_2"], &["a"]], &["a", "a_2", "a_3"]);
        check(&[&["call_2"], &[""]], &["call_2", "call_2_2"]);
    }

    #[test]
    fn blank_parts_are_not_recorded() {
        let signed = Block::Reasoning {
            text: String::new(),
            signed: Some("s".to_owned()),
        };
        let unsigned = Block::Reasoning {
            text: " ".to_owned(),
            signed: None,
        };
        let raw = answer(vec![text("  \n"), signed.clone(), unsigned, call("c")]);
        let recorded = recordable(raw, &mut CallIds::default());
        assert_eq!(recorded.blocks, vec![signed, call("c")]);
    }

    #[test]
    fn what_has_neither_text_nor_call_is_not_sent() {
        let thought = Block::Reasoning {
            text: "hm".to_owned(),
            signed: None,
        };
        assert_eq!(sendable(&answer(vec![])), None);
        assert_eq!(sendable(&answer(vec![thought.clone()])), None);
        let spoken = answer(vec![thought, text("a")]);
        assert_eq!(sendable(&spoken), Some(spoken.clone()));
    }

    #[test]
    fn invalid_arguments_and_names_are_replaced_when_sent() {
        let check = |name: &str, sent_as: &str| {
            let bad = Block::Call(ToolCall {
                id: CallId("c".to_owned()),
                name: name.to_owned(),
                arguments: Arguments::Invalid {
                    raw: "{\"a".to_owned(),
                    error: "ends early".to_owned(),
                },
            });
            assert_eq!(
                sendable(&answer(vec![bad])),
                Some(answer(vec![named("c", sent_as)]))
            );
        };
        check("read", "read");
        check("read file/é", "read_file__");
        check("", "unnamed");
        check(&"x".repeat(80), &"x".repeat(64));
    }
}
