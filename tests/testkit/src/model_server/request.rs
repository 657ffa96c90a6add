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

impl RequestView {
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

    /// The texts of the messages with this role, in order; absent texts are left out.
    #[must_use]
    pub fn texts(&self, role: &str) -> Vec<&str> {
        let of_role = self.messages().iter().filter(|m| m["role"] == role);
        of_role.filter_map(|m| m["content"].as_str()).collect()
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
        let messages = self.messages().iter().rev();
        let tail = messages.take_while(|m| m["role"] == "tool");
        let mut results: Vec<&str> = tail.filter_map(|m| m["content"].as_str()).collect();
        results.reverse();
        results
    }

    /// Names of the tools it offers.
    #[must_use]
    pub fn tools(&self) -> Vec<&str> {
        let tools = self.json["tools"].as_array().into_iter().flatten();
        tools
            .filter_map(|tool| tool["function"]["name"].as_str())
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
