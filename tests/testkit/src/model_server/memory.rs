//! What the server thought and signed, so that it can refuse a conversation that comes back with
//! other thoughts, as real servers of the messages wire do. Never knows what a thought is about.

use super::reply::Reply;
use super::request::{RequestView, Wire};
use serde_json::Value;

/// The signed answers given so far.
#[derive(Debug, Default)]
pub(super) struct Memory(Vec<Exchange>);

#[derive(Debug)]
struct Exchange {
    /// The messages that were answered, without markers.
    asked: Vec<Value>,
    /// The thoughts of the answer, as they must come back.
    thoughts: Vec<Value>,
}

impl Memory {
    /// Takes in what is about to be answered.
    pub(super) fn note(&mut self, request: &RequestView, reply: &Reply) {
        let thoughts = reply.thoughts();
        if request.wire() == Wire::Messages && !thoughts.is_empty() {
            let asked = unmarked(request.messages());
            self.0.push(Exchange { asked, thoughts });
        }
    }

    /// The first answer in a request whose thoughts are not those that were given.
    pub(super) fn changed(&self, request: &RequestView) -> Option<String> {
        if request.wire() != Wire::Messages || self.0.is_empty() {
            return None;
        }
        let messages = unmarked(request.messages());
        let found = (0..messages.len()).find(|at| self.is_changed(&messages, *at));
        found.map(|at| {
            format!("message {at} (assistant): its thoughts are not those that were given")
        })
    }

    fn is_changed(&self, messages: &[Value], at: usize) -> bool {
        if messages[at]["role"] != "assistant" {
            return false;
        }
        let blocks = messages[at]["content"].as_array().into_iter().flatten();
        let is_thought = |block: &&Value| {
            let kind = block["type"].as_str().unwrap_or("");
            kind.ends_with("thinking")
        };
        let found: Vec<&Value> = blocks.filter(is_thought).collect();
        let given = self.0.iter().rev().find(|one| one.asked == messages[..at]);
        match given {
            Some(one) => !found.iter().copied().eq(&one.thoughts),
            // A conversation that was cut short may begin elsewhere, but invents no thought.
            None => {
                let known =
                    |thought: &&&Value| self.0.iter().any(|one| one.thoughts.contains(thought));
                found.iter().filter(known).count() != found.len()
            }
        }
    }
}

fn unmarked(messages: &[Value]) -> Vec<Value> {
    let mut messages = messages.to_vec();
    for message in &mut messages {
        for block in message["content"].as_array_mut().into_iter().flatten() {
            if let Some(block) = block.as_object_mut() {
                block.remove("cache_control");
            }
        }
    }
    messages
}
