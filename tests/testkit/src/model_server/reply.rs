//! What the server answers: a well-formed answer, a refusal, or exact bytes with exact faults.

mod chat;
mod messages;

use super::gate::Gate;
use super::request::{RequestView, Wire};
use serde_json::{Value, json};
use std::time::Duration;

/// An answer to one request: first the events of a whole answer, if there is one, then the steps.
#[derive(Debug, Clone)]
pub struct Reply {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) before: Option<Gate>,
    answer: Option<Answer>,
    steps: Vec<Step>,
}

/// One thing that the server does while it answers.
#[derive(Debug, Clone)]
pub(super) enum Step {
    /// Sends bytes and flushes them.
    Send(Vec<u8>),
    /// Waits in real time.
    Pause(Duration),
    /// Waits for the test.
    Wait(Gate),
    /// Sends nothing more, until the client leaves.
    Stall,
    /// Closes the connection in the middle of the body.
    Cut,
    /// Resets the connection.
    Reset,
}

/// What the model says, whatever the wire.
#[derive(Debug, Clone)]
pub(super) struct Answer {
    thoughts: Vec<Thought>,
    text: String,
    calls: Vec<(String, String)>,
    /// Instead of the ids that are made up; the last one stands for all further calls.
    ids: Vec<String>,
    usage: Usage,
    finish_reason: Option<String>,
    end: End,
}

/// Reasoning, as the messages wire signs it.
#[derive(Debug, Clone)]
pub(super) enum Thought {
    /// A text and its signature.
    Signed(String, String),
    /// What only the provider can read.
    Redacted(String),
}

/// How much of the end of an answer is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// The reason and the mark.
    Whole,
    /// The reason, no mark.
    NoMark,
    /// Neither.
    Missing,
}

#[derive(Debug, Clone, Copy)]
enum Usage {
    /// A quarter of the bytes, both ways.
    Estimated,
    Exact {
        input: u64,
        output: u64,
    },
    Unreported,
}

impl Reply {
    /// An answer with this text.
    #[must_use]
    pub fn text(text: &str) -> Self {
        Self::calls([]).saying(text)
    }

    /// An answer with these tool calls, each a name and the text of its arguments.
    #[must_use]
    pub fn calls<'a>(calls: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let own = |(name, arguments): (&str, &str)| (name.to_owned(), arguments.to_owned());
        Self::ok(Some(Answer {
            thoughts: Vec::new(),
            text: String::new(),
            calls: calls.into_iter().map(own).collect(),
            ids: Vec::new(),
            usage: Usage::Estimated,
            finish_reason: None,
            end: End::Whole,
        }))
    }

    /// A refusal with this status and a message in the usual shape.
    #[must_use]
    pub fn refusal(status: u16, message: &str) -> Self {
        let body = json!({"error": {"message": message}}).to_string();
        Self {
            status,
            ..Self::bytes().send(&body)
        }
        .header("content-type", "application/json")
    }

    /// A stream of exact bytes: continue with [`Self::send`] and the faults.
    #[must_use]
    pub fn bytes() -> Self {
        Self::ok(None)
    }

    /// What a connection test gets: an empty list of models.
    pub(super) fn models() -> Self {
        let list = Self::bytes().send(r#"{"object":"list","data":[]}"#);
        list.header("content-type", "application/json")
    }

    fn ok(answer: Option<Answer>) -> Self {
        Self {
            status: 200,
            headers: Vec::new(),
            before: None,
            answer,
            steps: Vec::new(),
        }
    }

    /// Thinks before it speaks, and signs it where the wire has signatures.
    #[must_use]
    pub fn thinking(self, text: &str, signature: &str) -> Self {
        let thought = Thought::Signed(text.to_owned(), signature.to_owned());
        self.with_answer(|answer| answer.thoughts.push(thought))
    }

    /// Thinks what only the provider can read; only the messages wire has that.
    #[must_use]
    pub fn redacted(self, data: &str) -> Self {
        let thought = Thought::Redacted(data.to_owned());
        self.with_answer(|answer| answer.thoughts.push(thought))
    }

    /// Gives the calls these ids, whatever is wrong with them.
    #[must_use]
    pub fn with_ids<'a>(self, ids: impl IntoIterator<Item = &'a str>) -> Self {
        let ids = ids.into_iter().map(str::to_owned).collect();
        self.with_answer(|answer| answer.ids = ids)
    }

    /// Leaves the mark at the end of the stream out.
    #[must_use]
    pub fn without_mark(self) -> Self {
        self.with_answer(|answer| answer.end = End::NoMark)
    }

    /// Leaves out what says that the answer is whole.
    #[must_use]
    pub fn without_end(self) -> Self {
        self.with_answer(|answer| answer.end = End::Missing)
    }

    /// Adds text to an answer.
    #[must_use]
    pub fn saying(self, text: &str) -> Self {
        self.with_answer(|answer| text.clone_into(&mut answer.text))
    }

    /// Reports exactly this usage, in tokens.
    #[must_use]
    pub fn usage(self, input: u64, output: u64) -> Self {
        self.with_answer(|answer| answer.usage = Usage::Exact { input, output })
    }

    /// Reports no usage.
    #[must_use]
    pub fn without_usage(self) -> Self {
        self.with_answer(|answer| answer.usage = Usage::Unreported)
    }

    /// Ends with another reason than the fitting one, in the words of chat completions.
    #[must_use]
    pub fn finish_reason(self, reason: &str) -> Self {
        self.with_answer(|answer| answer.finish_reason = Some(reason.to_owned()))
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sends the head only when the gate is open.
    #[must_use]
    pub fn after(mut self, gate: &Gate) -> Self {
        self.before = Some(gate.clone());
        self
    }

    /// Sends these bytes and flushes them.
    #[must_use]
    pub fn send(self, bytes: impl AsRef<[u8]>) -> Self {
        self.step(Step::Send(bytes.as_ref().to_vec()))
    }

    /// Sends these bytes, each flushed by itself.
    #[must_use]
    pub fn send_bytewise(self, bytes: impl AsRef<[u8]>) -> Self {
        let each = bytes.as_ref().iter().map(|byte| vec![*byte]);
        each.fold(self, Self::send)
    }

    /// Waits in real time; prefer [`Self::wait`].
    #[must_use]
    pub fn pause(self, time: Duration) -> Self {
        self.step(Step::Pause(time))
    }

    /// Waits until the gate is open.
    #[must_use]
    pub fn wait(self, gate: &Gate) -> Self {
        self.step(Step::Wait(gate.clone()))
    }

    /// Sends nothing more and keeps the connection, until the client leaves.
    #[must_use]
    pub fn stall(self) -> Self {
        self.step(Step::Stall)
    }

    /// Closes the connection before the body is over.
    #[must_use]
    pub fn cut(self) -> Self {
        self.step(Step::Cut)
    }

    /// Resets the connection.
    #[must_use]
    pub fn reset(self) -> Self {
        self.step(Step::Reset)
    }

    fn with_answer(mut self, change: impl FnOnce(&mut Answer)) -> Self {
        let answer = self.answer.as_mut();
        change(answer.expect("these are exact bytes, not an answer that can be changed"));
        self
    }

    fn step(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }

    /// The thoughts of its answer as the messages wire wants them back.
    pub(super) fn thoughts(&self) -> Vec<Value> {
        let thoughts = self.answer.iter().flat_map(|answer| &answer.thoughts);
        thoughts.map(Thought::sent_back).collect()
    }

    /// What is done for this request after the head.
    pub(super) fn into_steps(self, request: &RequestView) -> Vec<Step> {
        let events = match (&self.answer, request.wire()) {
            (None, _) => Vec::new(),
            (Some(answer), Wire::Chat) => chat::events(answer, request),
            (Some(answer), Wire::Messages) => messages::events(answer, request),
        };
        let events = events.into_iter().map(|e| Step::Send(e.into_bytes()));
        events.chain(self.steps).collect()
    }
}

/// One event of a stream with this data, each of its lines a data line.
#[must_use]
pub fn sse(data: impl std::fmt::Display) -> String {
    let data = data.to_string().replace('\n', "\ndata: ");
    format!("data: {data}\n\n")
}

/// One event of a stream with this name and data.
#[must_use]
pub fn named_sse(name: &str, data: impl std::fmt::Display) -> String {
    format!("event: {name}\n{}", sse(data))
}

impl Thought {
    fn sent_back(&self) -> Value {
        match self {
            Self::Signed(text, signature) => {
                json!({"type": "thinking", "thinking": text, "signature": signature})
            }
            Self::Redacted(data) => json!({"type": "redacted_thinking", "data": data}),
        }
    }
}

impl Answer {
    fn call_id(&self, request: &RequestView, index: usize) -> String {
        match self.ids.get(index).or(self.ids.last()) {
            Some(id) => id.clone(),
            None => format!("call_{}_{}", request.turn(), index + 1),
        }
    }

    /// Input and output tokens, where they are reported.
    fn tokens(&self, request: &RequestView) -> Option<(u64, u64)> {
        let calls: usize = self.calls.iter().map(|(n, a)| n.len() + a.len()).sum();
        match self.usage {
            Usage::Unreported => None,
            Usage::Exact { input, output } => Some((input, output)),
            Usage::Estimated => {
                let quarter = |bytes: usize| bytes as u64 / 4 + 1;
                let output = quarter(self.text.len() + calls);
                Some((quarter(request.body.len()), output))
            }
        }
    }

    fn reason(&self) -> &str {
        let fitting = if self.calls.is_empty() {
            "stop"
        } else {
            "tool_calls"
        };
        self.finish_reason.as_deref().unwrap_or(fitting)
    }
}

/// The text in two pieces, cut at a character near the middle.
fn halves(text: &str) -> [&str; 2] {
    let middle = text.floor_char_boundary(text.len() / 2);
    let (left, right) = text.split_at(middle);
    [left, right]
}
