//! Understands what a provider tells about a failure: an HTTP answer that is no success, or an
//! error inside a stream. The one place that knows the providers' codes and phrases. Pure.

use super::Fault;
use crate::retry_after::{self, Hints};
use serde_json::Value;
use std::time::{Duration, SystemTime};

/// Longest text of a provider that is kept, in characters.
const WORDS_MAX_CHARS: usize = 600;
/// How deep errors inside the messages of errors are looked into: gateways wrap one another.
const WRAPPED_MAX: u32 = 4;

/// Codes and types by which providers say that the input was too large.
const OVERFLOW_CODES: &[&str] = &[
    "context_length_exceeded",
    "context_window_exceeded",
    "model_context_window_exceeded",
    "exceed_context_size_error",
    "request_too_large",
];

/// Phrases by which they say so where they have no code for it, in lower case.
const OVERFLOW_PHRASES: &[&str] = &[
    "prompt is too long",
    "input is too long",
    "maximum context length",
    "context length",
    "context window",
    "context size",
    "input token count",
    "reduce the length of the messages",
];

/// The HTTP status that a code or type inside a stream stands for.
const STATUS_OF_CODE: &[(&str, u16)] = &[
    ("invalid_request_error", 400),
    ("invalid_api_key", 401),
    ("authentication_error", 401),
    ("insufficient_quota", 402),
    ("billing_error", 402),
    ("permission_error", 403),
    ("not_found_error", 404),
    ("model_not_found", 404),
    ("rate_limit_exceeded", 429),
    ("rate_limit_error", 429),
    ("too_many_requests", 429),
    ("usage_limit", 429),
    ("server_error", 500),
    ("service_unavailable", 503),
    ("timeout_error", 504),
    ("overloaded_error", 529),
];

/// Status of an error inside a stream that says nothing about its kind.
const UNTOLD_STATUS: u16 = 500;

/// The fault behind an HTTP answer that is no success.
pub(crate) fn by_status(status: u16, body: &str, headers: Hints<'_>, now: SystemTime) -> Fault {
    let told = Told::read(body);
    let after = retry_after::wait(
        Hints {
            resets_in_secs: told.resets_in_secs,
            ..headers
        },
        now,
    );
    told.fault(status, after)
}

/// The fault behind an error inside a stream: the data of an event, a JSON object or plain text.
pub(crate) fn in_stream(data: &str) -> Fault {
    let told = Told::read(data);
    let after = told.resets_in_secs.map(Duration::from_secs);
    let by_code = || {
        STATUS_OF_CODE
            .iter()
            .find(|(code, _)| told.codes.iter().any(|told| told == code))
            .map(|(_, status)| *status)
    };
    let status = told.status.or_else(by_code).unwrap_or(UNTOLD_STATUS);
    told.fault(status, after)
}

/// Makes a text from outside fit to be shown: no control characters, one line, not too long.
pub(crate) fn clean(text: &str) -> String {
    let visible = text.replace(char::is_control, " ");
    let line = visible.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(WORDS_MAX_CHARS) {
        Some((end, _)) => format!("{}\u{2026}", &line[..end]),
        None => line,
    }
}

/// What a provider told, read leniently.
#[derive(Debug, Default)]
struct Told {
    /// A numeric code that is an HTTP status of a failure.
    status: Option<u16>,
    /// Codes and types, outermost first.
    codes: Vec<String>,
    /// Messages, outermost first.
    messages: Vec<String>,
    resets_in_secs: Option<u64>,
}

impl Told {
    fn read(text: &str) -> Self {
        let mut told = Self::default();
        told.read_text(text, WRAPPED_MAX);
        told
    }

    /// A text that may itself be a JSON object.
    fn read_text(&mut self, text: &str, depth: u32) {
        let object = text.trim_start().starts_with('{');
        match serde_json::from_str::<Value>(text) {
            Ok(value) if object && depth > 0 => self.read_value(&value, depth - 1),
            _ if text.trim().is_empty() => {}
            _ => self.messages.push(clean(text)),
        }
    }

    fn read_value(&mut self, value: &Value, depth: u32) {
        for field in ["code", "type", "status"] {
            match value.get(field) {
                Some(Value::String(code)) => self.read_code(code),
                Some(Value::Number(code)) => self.read_code(&code.to_string()),
                _ => {}
            }
        }
        if let Some(secs) = value.get("resets_in_seconds").and_then(Value::as_u64) {
            self.resets_in_secs.get_or_insert(secs);
        }
        for field in ["error", "message", "detail", "metadata", "raw"] {
            match value.get(field) {
                Some(Value::String(text)) => self.read_text(text, depth),
                Some(inner @ Value::Object(_)) if depth > 0 => self.read_value(inner, depth - 1),
                Some(Value::Array(items)) if depth > 0 => {
                    for item in items {
                        self.read_value(item, depth - 1);
                    }
                }
                _ => {}
            }
        }
        if let (Some(Value::String(text)), true) = (value.get("msg"), self.messages.is_empty()) {
            self.read_text(text, depth);
        }
    }

    fn read_code(&mut self, code: &str) {
        match code.parse() {
            Ok(status @ 400..=599) => {
                self.status.get_or_insert(status);
            }
            _ => self.codes.push(code.to_ascii_lowercase()),
        }
    }

    fn has_code(&self, known: &[&str]) -> bool {
        self.codes.iter().any(|code| known.contains(&code.as_str()))
    }

    fn is_overflow(&self, status: u16) -> bool {
        match status {
            413 => true,
            401 | 403 | 404 | 429 => false,
            _ => {
                let said = self.messages.join(" ").to_lowercase();
                self.has_code(OVERFLOW_CODES)
                    || OVERFLOW_PHRASES.iter().any(|phrase| said.contains(phrase))
            }
        }
    }

    fn words(&self) -> String {
        let mut words: Vec<&str> = Vec::new();
        for message in &self.messages {
            if !words.contains(&message.as_str()) {
                words.push(message);
            }
        }
        match (words.is_empty(), self.codes.first()) {
            (false, _) => clean(&words.join(": ")),
            (true, Some(code)) => clean(code),
            (true, None) => "it did not say why".to_owned(),
        }
    }

    fn fault(&self, status: u16, after: Option<Duration>) -> Fault {
        let words = self.words();
        if self.is_overflow(status) {
            return Fault::Overflow { words };
        }
        match status {
            401..=403 => Fault::KeyRefused { status, words },
            429 if self.has_code(&["insufficient_quota"]) => Fault::KeyRefused { status, words },
            429 => Fault::RateLimited { after, words },
            408 | 500..=599 => Fault::Busy {
                status,
                after,
                words,
            },
            _ => Fault::Refused { status, words },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ModelError;
    use crate::errors::{ErrorClass, Seen};
    use engine_core::record::Billed;

    const NOTHING_SAID: &str = "";

    fn error(fault: Fault) -> ModelError {
        ModelError {
            host: "api.example".to_owned(),
            fault,
            seen: Seen::Nothing,
        }
    }

    fn of_status(status: u16, body: &str) -> ModelError {
        error(by_status(
            status,
            body,
            Hints::default(),
            SystemTime::UNIX_EPOCH,
        ))
    }

    fn check(status: u16, body: &str, kind: &str, billed: Billed) {
        let error = of_status(status, body);
        assert_eq!(
            (error.kind(), error.billed()),
            (kind, billed),
            "{status} {body}"
        );
    }

    #[test]
    fn an_overflow_is_known_by_code_phrase_or_status() {
        for (status, body) in [
            (
                400,
                r#"{"error":{"code":"context_length_exceeded","message":"…"}}"#,
            ),
            (
                400,
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 > 8"}}"#,
            ),
            (
                400,
                r#"{"error":{"code":400,"type":"exceed_context_size_error","message":"…"}}"#,
            ),
            (
                422,
                r#"{"object":"error","message":"This model's maximum context length is 8 tokens"}"#,
            ),
            (413, NOTHING_SAID),
            (413, "<html>Payload Too Large</html>"),
        ] {
            check(status, body, "context-too-large", Billed::Nothing);
        }
    }

    #[test]
    fn the_status_decides_where_it_is_no_overflow() {
        for status in [404, 400, 405, 422, 301] {
            check(status, NOTHING_SAID, "refused", Billed::Nothing);
        }
        for status in [401, 402, 403] {
            check(status, NOTHING_SAID, "key-refused", Billed::Nothing);
        }
        check(429, NOTHING_SAID, "rate-limited", Billed::Nothing);
        for status in [503, 529] {
            check(status, NOTHING_SAID, "busy", Billed::Nothing);
        }
        for status in [408, 500, 502, 504, 520] {
            check(status, NOTHING_SAID, "busy", Billed::Reservation);
        }
        let broke = r#"{"error":{"type":"insufficient_quota","code":"insufficient_quota"}}"#;
        check(429, broke, "key-refused", Billed::Nothing);
    }

    #[test]
    fn an_error_in_a_stream_is_known_by_number_name_or_message() {
        for (data, kind) in [
            (
                r#"{"error":{"message":"{\"error\":{\"code\":\"context_length_exceeded\"}}"}}"#,
                "context-too-large",
            ),
            (
                r#"{"error":{"code":429,"message":"slow down"}}"#,
                "rate-limited",
            ),
            (
                r#"{"error":{"code":"429","message":"slow down"}}"#,
                "rate-limited",
            ),
            (
                r#"{"object":"error","code":400,"message":"bad"}"#,
                "refused",
            ),
            (
                r#"{"error":{"type":"overloaded_error","message":"busy"}}"#,
                "busy",
            ),
            (r#"{"error":{"code":"invalid_api_key"}}"#, "key-refused"),
            (r#"{"error":"something broke"}"#, "busy"),
            ("plain words", "busy"),
            ("", "busy"),
        ] {
            assert_eq!(error(in_stream(data)).kind(), kind, "{data}");
        }
    }

    #[test]
    fn the_wait_comes_from_the_headers_or_the_body() {
        let body = r#"{"error":{"type":"usage_limit","resets_in_seconds":400000}}"#;
        let after = Some(Duration::from_secs(400_000));
        assert_eq!(
            of_status(429, body).class(),
            ErrorClass::RateLimited { after }
        );
        assert_eq!(
            error(in_stream(body)).class(),
            ErrorClass::RateLimited { after }
        );
        let headers = Hints {
            retry_after: Some("7"),
            ..Hints::default()
        };
        let busy = error(by_status(503, "", headers, SystemTime::UNIX_EPOCH));
        let after = Some(Duration::from_secs(7));
        assert_eq!(busy.class(), ErrorClass::Busy { after });
    }

    #[test]
    fn messages_name_the_host_and_keep_the_providers_words() {
        let raw = r#"{"error":{"message":"Provider returned error","code":429,"metadata":{"raw":"upstream \u001b[31mis\nbusy","provider_name":"X"}}}"#;
        let refused = r#"{"object":"error","message":{"detail":[{"type":"extra_forbidden","loc":["body","x"],"msg":"Extra inputs are not permitted"}]}}"#;
        let told = [
            of_status(429, raw),
            of_status(422, refused),
            of_status(401, NOTHING_SAID),
            of_status(502, "<html>\r\n<b>Bad Gateway</b>"),
        ];
        let told = told.map(|error| error.to_string()).join("\n");
        insta::assert_snapshot!(told, @r"
        api.example: rate limited: Provider returned error: upstream [31mis busy
        api.example: the request was refused (status 422): Extra inputs are not permitted
        api.example: the key was refused (status 401): it did not say why
        api.example: temporarily unable to answer (status 502): <html> <b>Bad Gateway</b>
        ");
    }

    #[test]
    fn long_words_are_shortened() {
        let shown = clean(&"wörd ".repeat(1_000));
        assert_eq!(shown.chars().count(), WORDS_MAX_CHARS + 1);
    }

    proptest::proptest! {
        #[test]
        fn nothing_a_provider_says_makes_it_panic(body in ".*", status in 100_u16..1_000) {
            let _ = of_status(status, &body);
            let _ = in_stream(&body);
        }
    }
}
