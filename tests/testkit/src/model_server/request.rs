//! A request as the server got it, and what tests ask of it. Never judges it: `rules` does.

use serde_json::Value;

/// A request that arrived whole.
#[derive(Debug, Clone)]
pub struct RequestView {
    /// `POST`, `GET` …
    pub method: String,
    /// The path with its query.
    pub path: String,
    /// Names in lower case, values as they came.
    pub headers: Vec<(String, String)>,
    /// The exact body.
    pub body: Vec<u8>,
    /// The body as JSON; null when it is none.
    pub json: Value,
}

/// A wire that the server speaks. A request's path tells which.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    /// Streamed chat completions.
    Chat,
    /// Streamed messages.
    Messages,
}

impl Wire {
    /// Both.
    pub const BOTH: [Self; 2] = [Self::Chat, Self::Messages];
}

impl RequestView {
    /// The wire it speaks.
    #[must_use]
    pub fn wire(&self) -> Wire {
        if self.path.ends_with("/messages") {
            Wire::Messages
        } else {
            Wire::Chat
        }
    }

    /// The header of this name, in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Its messages.
    #[must_use]
    pub fn messages(&self) -> &[Value] {
        self.json["messages"].as_array().map_or(&[], Vec::as_slice)
    }

    /// What was said by this side, in order: `system`, `user`, `assistant` or `tool`.
    #[must_use]
    pub fn texts(&self, role: &str) -> Vec<&str> {
        match self.wire() {
            Wire::Chat => {
                let of_role = self.messages().iter().filter(|m| m["role"] == role);
                of_role.filter_map(|m| m["content"].as_str()).collect()
            }
            Wire::Messages if role == "system" => texts_of(&self.json["system"]).collect(),
            Wire::Messages if role == "tool" => {
                self.messages().iter().flat_map(results_of).collect()
            }
            Wire::Messages => {
                let of_role = self.messages().iter().filter(|m| m["role"] == role);
                of_role.flat_map(|m| texts_of(&m["content"])).collect()
            }
        }
    }

    /// Which answer it asks for, from 1: the answers in it and one more.
    #[must_use]
    pub fn turn(&self) -> usize {
        let answers = self.messages().iter().filter(|m| m["role"] == "assistant");
        answers.count() + 1
    }

    /// Whether its instructions or the person's messages hold this text. What tools brought is not
    /// looked at.
    #[must_use]
    pub fn mentions(&self, marker: &str) -> bool {
        let told = ["system", "user"].into_iter().flat_map(|r| self.texts(r));
        told.into_iter().any(|text| text.contains(marker))
    }

    /// The results that answer the calls of the last answer, in order.
    #[must_use]
    pub fn last_results(&self) -> Vec<&str> {
        if self.wire() == Wire::Messages {
            return self
                .messages()
                .last()
                .into_iter()
                .flat_map(results_of)
                .collect();
        }
        let messages = self.messages().iter().rev();
        let tail = messages.take_while(|m| m["role"] == "tool");
        let mut results: Vec<&str> = tail.filter_map(|m| m["content"].as_str()).collect();
        results.reverse();
        results
    }

    /// The calls of the last answer in it, in order: id, name, arguments as JSON.
    #[must_use]
    pub fn last_calls(&self) -> Vec<(String, String, Value)> {
        let text = |value: &Value| value.as_str().unwrap_or("").to_owned();
        let answers = self.messages().iter().rev();
        let last = answers.clone().find(|m| m["role"] == "assistant");
        let Some(last) = last else {
            return Vec::new();
        };
        match self.wire() {
            Wire::Chat => {
                let calls = last["tool_calls"].as_array().into_iter().flatten();
                let read = |text: &Value| serde_json::from_str(text.as_str().unwrap_or(""));
                calls
                    .map(|call| {
                        let function = &call["function"];
                        let arguments = read(&function["arguments"]).unwrap_or_default();
                        (text(&call["id"]), text(&function["name"]), arguments)
                    })
                    .collect()
            }
            Wire::Messages => {
                let blocks = last["content"].as_array().into_iter().flatten();
                blocks
                    .filter(|block| block["type"] == "tool_use")
                    .map(|call| {
                        (
                            text(&call["id"]),
                            text(&call["name"]),
                            call["input"].clone(),
                        )
                    })
                    .collect()
            }
        }
    }

    /// Names of the tools it offers.
    #[must_use]
    pub fn tools(&self) -> Vec<&str> {
        let tools = self.json["tools"].as_array().into_iter().flatten();
        tools
            .filter_map(|tool| match self.wire() {
                Wire::Chat => tool["function"]["name"].as_str(),
                Wire::Messages => tool["name"].as_str(),
            })
            .collect()
    }

    /// Its output limit in tokens, under either name.
    #[must_use]
    pub fn max_output(&self) -> Option<u64> {
        let newer = self.json["max_completion_tokens"].as_u64();
        newer.or_else(|| self.json["max_tokens"].as_u64())
    }

    /// True for the connection test, which is no model request.
    #[must_use]
    pub fn is_probe(&self) -> bool {
        self.method == "GET"
    }
}

fn texts_of(content: &Value) -> impl Iterator<Item = &str> {
    let blocks = content.as_array().into_iter().flatten();
    let texts = blocks.filter(|block| block["type"] == "text");
    texts.filter_map(|block| block["text"].as_str())
}

fn results_of(message: &Value) -> impl Iterator<Item = &str> {
    let blocks = message["content"].as_array().into_iter().flatten();
    let results = blocks.filter(|block| block["type"] == "tool_result");
    results.filter_map(|block| block["content"].as_str())
}
