//! What the server answers: a well-formed answer, a refusal, or exact bytes with exact faults.

use super::gate::Gate;
use super::request::RequestView;
use serde_json::{Value, json};
use std::time::Duration;

/// An answer to one request.
#[derive(Debug, Clone)]
pub struct Reply {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) before: Option<Gate>,
    body: Body,
}

#[derive(Debug, Clone)]
enum Body {
    Answer(Answer),
    Steps(Vec<Step>),
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

#[derive(Debug, Clone)]
struct Answer {
    text: String,
    calls: Vec<(String, String)>,
    usage: Usage,
    finish_reason: Option<String>,
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
        Self::ok(Body::Answer(Answer {
            text: String::new(),
            calls: calls.into_iter().map(own).collect(),
            usage: Usage::Estimated,
            finish_reason: None,
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
        Self::ok(Body::Steps(Vec::new()))
    }

    /// What a connection test gets: an empty list of models.
    pub(super) fn models() -> Self {
        let list = Self::bytes().send(r#"{"object":"list","data":[]}"#);
        list.header("content-type", "application/json")
    }

    fn ok(body: Body) -> Self {
        Self {
            status: 200,
            headers: Vec::new(),
            before: None,
            body,
        }
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

    /// Ends with another reason than the fitting one.
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
        match &mut self.body {
            Body::Answer(answer) => change(answer),
            Body::Steps(_) => panic!("these are exact bytes, not an answer that can be changed"),
        }
        self
    }

    fn step(mut self, step: Step) -> Self {
        match &mut self.body {
            Body::Steps(steps) => steps.push(step),
            Body::Answer(_) => panic!("this is a whole answer: start from Reply::bytes()"),
        }
        self
    }

    /// What is done for this request after the head.
    pub(super) fn into_steps(self, request: &RequestView) -> Vec<Step> {
        match self.body {
            Body::Steps(steps) => steps,
            Body::Answer(answer) => answer.into_steps(request),
        }
    }
}

/// One event of a stream with this data, each of its lines a data line.
#[must_use]
pub fn sse(data: impl std::fmt::Display) -> String {
    let data = data.to_string().replace('\n', "\ndata: ");
    format!("data: {data}\n\n")
}

impl Answer {
    fn into_steps(self, request: &RequestView) -> Vec<Step> {
        let mut events = vec![chunk(&json!({"role": "assistant", "content": null}))];
        let words = self.text.split_inclusive(' ');
        events.extend(words.map(|word| chunk(&json!({"content": word}))));
        for (index, (name, arguments)) in self.calls.iter().enumerate() {
            let id = format!("call_{}_{}", request.turn(), index + 1);
            let function = json!({"name": name, "arguments": ""});
            let opening = json!({"index": index, "id": id, "type": "function",
                                 "function": function});
            events.push(chunk(&json!({"tool_calls": [opening]})));
            for piece in halves(arguments) {
                let more = json!({"index": index, "function": {"arguments": piece}});
                events.push(chunk(&json!({"tool_calls": [more]})));
            }
        }
        let fitting = if self.calls.is_empty() {
            "stop"
        } else {
            "tool_calls"
        };
        let reason = self.finish_reason.as_deref().unwrap_or(fitting);
        events.push(json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}));
        events.extend(self.usage(request));
        let mut steps: Vec<Step> = events
            .iter()
            .map(|event| Step::Send(sse(event).into_bytes()))
            .collect();
        steps.push(Step::Send(sse("[DONE]").into_bytes()));
        steps
    }

    fn usage(&self, request: &RequestView) -> Option<Value> {
        let calls: usize = self.calls.iter().map(|(n, a)| n.len() + a.len()).sum();
        let (input, output) = match self.usage {
            Usage::Unreported => return None,
            Usage::Exact { input, output } => (input, output),
            Usage::Estimated => {
                let quarter = |bytes: usize| bytes as u64 / 4 + 1;
                (
                    quarter(request.body.len()),
                    quarter(self.text.len() + calls),
                )
            }
        };
        let usage = json!({"prompt_tokens": input, "completion_tokens": output,
                           "total_tokens": input + output});
        Some(json!({"choices": [], "usage": usage}))
    }
}

fn chunk(delta: &Value) -> Value {
    json!({"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta}]})
}

/// The text in two pieces, cut at a character near the middle.
fn halves(text: &str) -> [&str; 2] {
    let middle = text.floor_char_boundary(text.len() / 2);
    let (left, right) = text.split_at(middle);
    [left, right]
}
