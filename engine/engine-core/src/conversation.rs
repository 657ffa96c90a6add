//! The rules every conversation keeps before it is sent, whatever the wire. Never repairs one.

use crate::message::{Answer, Arguments, Block, Message, ToolResult};
use std::collections::BTreeSet;

/// Which rule a conversation breaks, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("message {index}: {rule}")]
pub struct InvalidConversation {
    /// Index of the message, from 0.
    pub index: usize,
    /// The broken rule.
    pub rule: &'static str,
}

/// Checks that a conversation may be sent: it begins with the person, roles follow each other
/// validly, every call has exactly one result right after it in the order asked, ids are unique,
/// no text is blank, all arguments are JSON objects, and it is the model's turn.
///
/// # Errors
/// The first broken rule.
pub fn check_conversation(messages: &[Message]) -> Result<(), InvalidConversation> {
    let mut ids = BTreeSet::new();
    let mut before = None;
    for (index, message) in messages.iter().enumerate() {
        follows(before, message)
            .and_then(|()| is_sound(message, &mut ids))
            .map_err(|rule| InvalidConversation { index, rule })?;
        before = Some(message);
    }
    match before {
        Some(Message::User { .. } | Message::Results { .. }) => Ok(()),
        Some(Message::Model(_)) | None => Err(InvalidConversation {
            index: messages.len(),
            rule: "it is not the model's turn",
        }),
    }
}

fn follows(before: Option<&Message>, message: &Message) -> Result<(), &'static str> {
    match (before, message) {
        (None | Some(Message::Results { .. }), Message::User { .. })
        | (Some(Message::User { .. } | Message::Results { .. }), Message::Model(_)) => Ok(()),
        (None, _) => Err("the first message is not from the person"),
        (Some(Message::User { .. }), Message::User { .. }) => Err("two messages of the person"),
        (Some(Message::Model(_)), Message::Model(_)) => Err("two answers"),
        (Some(Message::Model(answer)), Message::Results { results }) => answered(answer, results),
        (Some(_), Message::Results { .. }) => Err("results without an answer before them"),
        (Some(Message::Model(answer)), Message::User { .. }) => match answer.calls().next() {
            None => Ok(()),
            Some(_) => Err("a call without a result"),
        },
    }
}

fn answered(answer: &Answer, results: &[ToolResult]) -> Result<(), &'static str> {
    let asked = answer.calls().map(|call| &call.id);
    if asked.eq(results.iter().map(|result| &result.call)) {
        Ok(())
    } else {
        Err("the results are not those of the calls, in their order")
    }
}

fn is_sound<'a>(message: &'a Message, ids: &mut BTreeSet<&'a str>) -> Result<(), &'static str> {
    match message {
        Message::User { text } => not_blank(text),
        Message::Results { results } if results.is_empty() => Err("an empty list of results"),
        Message::Results { results } => results.iter().try_for_each(|r| not_blank(&r.text)),
        Message::Model(answer) if answer.blocks.is_empty() => Err("an answer without parts"),
        Message::Model(answer) => answer
            .blocks
            .iter()
            .try_for_each(|block| is_sound_block(block, ids)),
    }
}

fn is_sound_block<'a>(block: &'a Block, ids: &mut BTreeSet<&'a str>) -> Result<(), &'static str> {
    let call = match block {
        Block::Text { text } => return not_blank(text),
        Block::Reasoning { .. } => return Ok(()),
        Block::Call(call) => call,
    };
    if call.id.0.trim().is_empty() || !ids.insert(&call.id.0) {
        return Err("a call id that is empty or used before");
    }
    if call.name.is_empty() {
        return Err("a call without a name");
    }
    match &call.arguments {
        Arguments::Object(text) if is_object(text) => Ok(()),
        Arguments::Object(_) | Arguments::Invalid { .. } => {
            Err("arguments that are not a JSON object")
        }
    }
}

fn is_object(text: &str) -> bool {
    serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(text).is_ok()
}

fn not_blank(text: &str) -> Result<(), &'static str> {
    if text.trim().is_empty() {
        Err("a blank text")
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::CallId;
    use crate::message::{Stop, ToolCall, ToolStatus};

    fn user(text: &str) -> Message {
        Message::User {
            text: text.to_owned(),
        }
    }

    fn says(text: &str) -> Message {
        Message::Model(Answer {
            blocks: vec![Block::Text {
                text: text.to_owned(),
            }],
            stop: Stop::End,
        })
    }

    fn calls(ids: &[&str], arguments: &str) -> Message {
        let call = |id: &&str| {
            Block::Call(ToolCall {
                id: CallId((*id).to_owned()),
                name: "read".to_owned(),
                arguments: Arguments::Object(arguments.to_owned()),
            })
        };
        Message::Model(Answer {
            blocks: ids.iter().map(call).collect(),
            stop: Stop::Calls,
        })
    }

    fn results(ids: &[&str], text: &str) -> Message {
        let result = |id: &&str| ToolResult {
            call: CallId((*id).to_owned()),
            text: text.to_owned(),
            status: ToolStatus::Ok,
        };
        Message::Results {
            results: ids.iter().map(result).collect(),
        }
    }

    fn check(messages: &[Message], broken: Option<(usize, &'static str)>) {
        let expected = match broken {
            None => Ok(()),
            Some((index, rule)) => Err(InvalidConversation { index, rule }),
        };
        assert_eq!(check_conversation(messages), expected, "{messages:?}");
    }

    #[test]
    fn sound_conversations_pass() {
        check(&[user("a")], None);
        check(&[user("a"), says("b"), user("c")], None);
        check(
            &[
                user("a"),
                calls(&["1", "2"], "{}"),
                results(&["1", "2"], "x"),
            ],
            None,
        );
        check(
            &[
                user("a"),
                calls(&["1"], "{}"),
                results(&["1"], "x"),
                user("b"),
            ],
            None,
        );
        check(
            &[
                user("a"),
                calls(&["1"], "{}"),
                results(&["1"], "x"),
                says("b"),
                user("c"),
            ],
            None,
        );
    }

    #[test]
    fn roles_must_follow_validly() {
        check(&[], Some((0, "it is not the model's turn")));
        check(
            &[user("a"), says("b")],
            Some((2, "it is not the model's turn")),
        );
        check(
            &[says("a")],
            Some((0, "the first message is not from the person")),
        );
        check(
            &[user("a"), user("b")],
            Some((1, "two messages of the person")),
        );
        check(&[user("a"), says("b"), says("c")], Some((2, "two answers")));
        check(
            &[user("a"), results(&["1"], "x")],
            Some((1, "results without an answer before them")),
        );
    }

    #[test]
    fn calls_and_results_must_pair() {
        let rule = "the results are not those of the calls, in their order";
        for wrong in [&["1"][..], &["2", "1"], &["1", "2", "3"], &["1", "1"]] {
            check(
                &[user("a"), calls(&["1", "2"], "{}"), results(wrong, "x")],
                Some((2, rule)),
            );
        }
        check(
            &[user("a"), calls(&["1"], "{}"), user("b")],
            Some((2, "a call without a result")),
        );
        check(
            &[user("a"), says("b"), results(&[], "x")],
            Some((2, "an empty list of results")),
        );
    }

    #[test]
    fn ids_arguments_and_texts_must_be_sound() {
        let id = "a call id that is empty or used before";
        check(&[user("a"), calls(&[""], "{}")], Some((1, id)));
        check(&[user("a"), calls(&["1", "1"], "{}")], Some((1, id)));
        check(
            &[
                user("a"),
                calls(&["1"], "{}"),
                results(&["1"], "x"),
                calls(&["1"], "{}"),
            ],
            Some((3, id)),
        );
        for bad in ["", "[]", "{\"a", "null"] {
            check(
                &[user("a"), calls(&["1"], bad)],
                Some((1, "arguments that are not a JSON object")),
            );
        }
        check(&[user(" \n")], Some((0, "a blank text")));
        check(&[user("a"), says("\t")], Some((1, "a blank text")));
        check(
            &[user("a"), calls(&["1"], "{}"), results(&["1"], "")],
            Some((2, "a blank text")),
        );
        check(
            &[user("a"), calls(&[], "{}")],
            Some((1, "an answer without parts")),
        );
    }
}
