//! One provider over HTTP: sends a body, reads the stream, keeps the limits. Never knows what the
//! events mean, never sends twice, never follows a redirect (it could carry the key elsewhere).

mod address;
mod client;
mod deadline;

pub use address::{BadAddress, PlainHttp};

use crate::StreamEvent;
use crate::errors::{Fault, ModelError, Seen, told};
use crate::key::{Key, KeyStyle};
use crate::limits::Limits;
use crate::retry_after::Hints;
use crate::sse::{Decoder, Event};
use crate::wire::{Assemble, Progress};
use address::Address;
use client::{LazyClient, root_cause};
use deadline::Deadline;
use engine_core::request::ModelResponse;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER};
use reqwest::{Method, RequestBuilder, Response, StatusCode};
use std::time::{Duration, SystemTime};

/// Most bytes of a refusal that are read for its words.
const REFUSAL_MAX_BYTES: usize = 64 * 1024;
/// How long the end of a stream is waited for after its end mark, so that its connection can be kept.
const DRAIN: Duration = Duration::from_millis(50);

/// A provider's place in the network.
#[derive(Debug)]
pub(crate) struct Endpoint {
    address: Address,
    key: Option<Key>,
    manners: Manners,
    limits: Limits,
    client: LazyClient,
}

/// What every request of a wire carries.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Manners {
    /// Where the key goes.
    pub(crate) key: KeyStyle,
    /// Further headers.
    pub(crate) headers: &'static [(&'static str, &'static str)],
}

impl Endpoint {
    /// Opens no connection and loads no certificate: that waits for the first request.
    pub(crate) fn new(
        base_url: &str,
        plain: PlainHttp,
        limits: Limits,
    ) -> Result<Self, BadAddress> {
        Ok(Self {
            address: Address::parse(base_url, plain)?,
            key: None,
            manners: Manners::default(),
            limits,
            client: LazyClient::default(),
        })
    }

    /// The same place, asked with a key.
    pub(crate) fn with_key(self, key: Key) -> Self {
        Self {
            key: Some(key),
            ..self
        }
    }

    /// The same place, asked in the manner of its wire.
    pub(crate) fn with_manners(self, manners: Manners) -> Self {
        Self { manners, ..self }
    }

    /// Whether the base URL ends with this part of a path.
    pub(crate) fn ends_with(&self, part: &str) -> bool {
        self.address.ends_with(part)
    }

    /// Posts a body and puts the answer together.
    pub(crate) async fn answer<A: Assemble + Default>(
        &self,
        path: &str,
        body: String,
        on_event: &mut (dyn FnMut(StreamEvent) + Send),
    ) -> Result<ModelResponse, ModelError> {
        let mut answer = A::default();
        self.stream(path, body, &mut answer, on_event).await?;
        let seen = answer.seen();
        answer.finish().map_err(|fault| self.error(fault, seen))
    }

    /// The host for people, with its port unless it is the usual one.
    pub(crate) fn host(&self) -> &str {
        self.address.host()
    }

    /// Posts a JSON body and feeds the stream that answers it to `answer`, until the answer ended
    /// or the connection did: which of the two, `answer` knows.
    async fn stream(
        &self,
        path: &str,
        body: String,
        answer: &mut dyn Assemble,
        on_event: &mut (dyn FnMut(StreamEvent) + Send),
    ) -> Result<(), ModelError> {
        let mut deadline = Deadline::start(self.limits);
        let result = async {
            let request = self
                .request(Method::POST, path)?
                .header(CONTENT_TYPE, "application/json")
                .header(ACCEPT, "text/event-stream")
                .body(body);
            let response = deadline.wait(request.send()).await?;
            let response = response.map_err(|error| self.transport_fault(&error))?;
            if !response.status().is_success() {
                return Err(refusal(response).await);
            }
            read(response, &mut deadline, answer, on_event).await
        };
        let result = result.await;
        result.map_err(|fault| self.error(fault, answer.seen()))
    }

    /// Asks for the list of models. Whatever answers can be reached; only a refused key counts
    /// against it.
    pub(crate) async fn probe(&self, path: &str) -> Result<(), ModelError> {
        let result = async {
            let sent = self.request(Method::GET, path)?.send();
            let response = tokio::time::timeout(self.limits.probe, sent).await;
            let response = response.map_err(|_| Fault::Unreachable {
                cause: format!("no answer within {} s", self.limits.probe.as_secs_f32()),
            })?;
            let response = response.map_err(|error| Fault::Unreachable {
                cause: root_cause(&error),
            })?;
            match response.status() {
                StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Err(refusal(response).await),
                _ => Ok(()),
            }
        };
        let result = result.await;
        result.map_err(|fault| self.error(fault, Seen::Nothing))
    }

    /// A failure of this provider, its key blotted out.
    pub(crate) fn error(&self, mut fault: Fault, seen: Seen) -> ModelError {
        if let (Some(key), Some(words)) = (&self.key, fault.words_mut()) {
            key.hide_in(words);
        }
        ModelError {
            host: self.host().to_owned(),
            fault,
            seen,
        }
    }

    fn request(&self, method: Method, path: &str) -> Result<RequestBuilder, Fault> {
        let client = self.client.get(&self.address, &self.limits)?;
        let mut request = client.request(method, self.address.join(path));
        for (name, value) in self.manners.headers {
            request = request.header(*name, *value);
        }
        if let Some(key) = &self.key {
            let (name, value) = key.header(self.manners.key);
            let mut value = HeaderValue::from_str(&value)
                .expect("a key holds only characters that a header may hold");
            value.set_sensitive(true);
            request = request.header(name, value);
        }
        Ok(request)
    }

    fn transport_fault(&self, error: &reqwest::Error) -> Fault {
        if error.is_connect() && error.is_timeout() {
            return Fault::Unreachable {
                cause: format!(
                    "no connection within {} s",
                    self.limits.connect.as_secs_f32()
                ),
            };
        }
        let cause = root_cause(error);
        if error.is_connect() {
            Fault::Unreachable { cause }
        } else {
            Fault::StreamCut { cause }
        }
    }
}

async fn read(
    mut response: Response,
    deadline: &mut Deadline,
    answer: &mut dyn Assemble,
    on_event: &mut (dyn FnMut(StreamEvent) + Send),
) -> Result<(), Fault> {
    match content_type(&response) {
        "application/json" => {
            let event = Event {
                name: String::new(),
                data: whole_text(response, deadline).await?,
            };
            return answer.take(&event, on_event).map(drop);
        }
        "text/html" => {
            return Err(Fault::Protocol {
                detail: "it is a web page, not an event stream".to_owned(),
            });
        }
        _ => {}
    }
    let mut decoder = Decoder::default();
    let mut whole = false;
    loop {
        let received = deadline.wait(response.chunk()).await;
        let bytes = match received {
            Ok(Ok(Some(bytes))) => bytes,
            Ok(Ok(None)) => return Ok(()),
            // What is still missing is only its usage and its end mark.
            Ok(Err(_)) | Err(_) if whole => return Ok(()),
            Ok(Err(error)) => {
                return Err(Fault::StreamCut {
                    cause: root_cause(&error),
                });
            }
            Err(fault) => return Err(fault),
        };
        deadline.count(bytes.len())?;
        let mut events = Vec::new();
        let decoded = decoder.feed(&bytes, &mut |event| events.push(event));
        for event in &events {
            let progress = answer.take(event, on_event)?;
            deadline.note(progress);
            whole |= progress == Progress::Whole;
            if progress == Progress::Ended {
                let _ = tokio::time::timeout(DRAIN, response.chunk()).await;
                return Ok(());
            }
        }
        decoded.map_err(|error| Fault::Protocol {
            detail: error.to_string(),
        })?;
    }
}

/// The body of an answer that is not a stream.
async fn whole_text(mut response: Response, deadline: &mut Deadline) -> Result<String, Fault> {
    let mut body = Vec::new();
    loop {
        match deadline.wait(response.chunk()).await? {
            Ok(Some(bytes)) => {
                deadline.count(bytes.len())?;
                body.extend_from_slice(&bytes);
            }
            Ok(None) => {
                return String::from_utf8(body).map_err(|_| Fault::Protocol {
                    detail: crate::sse::NotUtf8.to_string(),
                });
            }
            Err(error) => {
                return Err(Fault::StreamCut {
                    cause: root_cause(&error),
                });
            }
        }
    }
}

/// Reads why an answer is no success. What cannot be read of its words is left out.
async fn refusal(mut response: Response) -> Fault {
    let status = response.status().as_u16();
    let headers = std::mem::take(response.headers_mut());
    let mut body = Vec::new();
    let reading = async {
        while let Ok(Some(bytes)) = response.chunk().await {
            body.extend_from_slice(&bytes);
            if body.len() >= REFUSAL_MAX_BYTES {
                break;
            }
        }
    };
    let _ = tokio::time::timeout(Limits::default().probe, reading).await;
    let hints = Hints {
        retry_after: header(&headers, RETRY_AFTER.as_str()),
        retry_after_ms: header(&headers, "retry-after-ms"),
        resets_in_secs: None,
    };
    let words = String::from_utf8_lossy(&body);
    told::by_status(status, &words, hints, SystemTime::now())
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

fn content_type(response: &Response) -> &'static str {
    let whole = header(response.headers(), CONTENT_TYPE.as_str()).unwrap_or("");
    let kind = whole.split(';').next().unwrap_or("").trim();
    ["application/json", "text/html"]
        .into_iter()
        .find(|known| kind.eq_ignore_ascii_case(known))
        .unwrap_or("")
}
