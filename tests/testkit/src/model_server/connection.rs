//! One connection: reads requests of HTTP/1.1 with a length, writes chunked answers, each flush its
//! own chunk. Never parses more of HTTP than the client under test sends.

use super::Shared;
use super::reply::{Reply, Step};
use super::request::RequestView;
use super::rules::broken_rule;

use std::fmt::Write as _;
use std::io;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// Largest head of a request, in bytes.
const HEAD_MAX_BYTES: usize = 64 * 1024;

/// Accepts connections for ever. Dropping the future ends them all.
pub(super) async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    loop {
        let Ok((socket, _)) = listener.accept().await else {
            continue;
        };
        // Every flush must leave as it is, not wait for company.
        let _ = socket.set_nodelay(true);
        shared.change(|seen| seen.connections += 1);
        let shared = Arc::clone(&shared);
        connections.spawn(async move {
            let mut socket = socket;
            // A client may leave at any time; that ends its connection and nothing else.
            let _ = serve(&mut socket, &shared).await;
        });
        while connections.try_join_next().is_some() {}
    }
}

/// What follows an answer.
enum Next {
    KeepOpen,
    Close,
}

async fn serve(socket: &mut TcpStream, shared: &Shared) -> io::Result<()> {
    let mut unread = Vec::new();
    while let Some(request) = read_request(socket, &mut unread).await? {
        if request.is_probe() {
            write_reply(socket, shared.probe.clone(), &request).await?;
            continue;
        }
        let in_flight = InFlight::begin(shared, &request);
        let broken = broken_rule(request.wire(), &request.json);
        let reply = match broken.or_else(|| shared.memory().changed(&request)) {
            None => {
                let reply = (shared.handler)(&request);
                shared.memory().note(&request, &reply);
                reply
            }
            Some(rule) => {
                let reply = Reply::refusal(400, &format!("rule broken: {rule}"));
                shared.change(|seen| seen.broken_rules.push(rule));
                reply
            }
        };
        let next = write_reply(socket, reply, &request).await?;
        in_flight.answered();
        if let Next::Close = next {
            break;
        }
    }
    Ok(())
}

/// Counts a request while it is being answered; dropped unanswered, its client has left.
struct InFlight<'a>(Option<&'a Shared>);

impl<'a> InFlight<'a> {
    fn begin(shared: &'a Shared, request: &RequestView) -> Self {
        shared.change(|seen| {
            seen.requests.push(request.clone());
            seen.in_flight += 1;
            seen.peak = seen.peak.max(seen.in_flight);
        });
        Self(Some(shared))
    }

    fn answered(mut self) {
        if let Some(shared) = self.0.take() {
            shared.change(|seen| seen.in_flight -= 1);
        }
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        if let Some(shared) = self.0.take() {
            shared.change(|seen| {
                seen.in_flight -= 1;
                seen.abandoned += 1;
            });
        }
    }
}

/// The next request, or `None` when the client has left.
async fn read_request(
    socket: &mut TcpStream,
    unread: &mut Vec<u8>,
) -> io::Result<Option<RequestView>> {
    let head_end = loop {
        if let Some(at) = unread.windows(4).position(|window| window == b"\r\n\r\n") {
            break at;
        }
        if unread.len() > HEAD_MAX_BYTES || socket.read_buf(unread).await? == 0 {
            return Ok(None);
        }
    };
    let head = String::from_utf8_lossy(&unread[..head_end]).into_owned();
    let mut lines = head.split("\r\n");
    let mut words = lines.next().unwrap_or("").split(' ').map(str::to_owned);
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length.map_or(Ok(0), |(_, value)| value.parse::<usize>());
    let length = length.map_err(io::Error::other)?;
    let body_start = head_end + 4;
    while unread.len() < body_start + length {
        if socket.read_buf(unread).await? == 0 {
            return Ok(None);
        }
    }
    let body = unread[body_start..body_start + length].to_vec();
    unread.drain(..body_start + length);
    Ok(Some(RequestView {
        method: words.next().unwrap_or_default(),
        path: words.next().unwrap_or_default(),
        headers,
        json: serde_json::from_slice(&body).unwrap_or_default(),
        body,
    }))
}

async fn write_reply(
    socket: &mut TcpStream,
    reply: Reply,
    request: &RequestView,
) -> io::Result<Next> {
    if let Some(gate) = &reply.before {
        while_connected(socket, gate.passed()).await?;
    }
    socket.write_all(head(&reply).as_bytes()).await?;
    for step in reply.into_steps(request) {
        match step {
            Step::Send(bytes) if bytes.is_empty() => {}
            Step::Send(bytes) => {
                let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
                chunk.extend_from_slice(&bytes);
                chunk.extend_from_slice(b"\r\n");
                socket.write_all(&chunk).await?;
            }
            Step::Pause(time) => while_connected(socket, tokio::time::sleep(time)).await?,
            Step::Wait(gate) => while_connected(socket, gate.passed()).await?,
            Step::Stall => while_connected(socket, std::future::pending()).await?,
            Step::Cut => return Ok(Next::Close),
            Step::Reset => {
                socket.set_zero_linger()?;
                return Ok(Next::Close);
            }
        }
    }
    socket.write_all(b"0\r\n\r\n").await?;
    Ok(Next::KeepOpen)
}

fn head(reply: &Reply) -> String {
    let mut head = format!("HTTP/1.1 {} Scripted\r\n", reply.status);
    let typed = reply.headers.iter().any(|(name, _)| name == "content-type");
    if !typed {
        head.push_str("content-type: text/event-stream\r\n");
    }
    for (name, value) in &reply.headers {
        write!(head, "{name}: {value}\r\n").expect("writing to a String cannot fail");
    }
    head.push_str("transfer-encoding: chunked\r\n\r\n");
    head
}

/// Waits, unless the client leaves first.
async fn while_connected(socket: &TcpStream, wait: impl Future<Output = ()>) -> io::Result<()> {
    let left = async {
        let mut byte = [0];
        loop {
            socket.readable().await?;
            match socket.try_read(&mut byte) {
                Ok(_) => return Err::<(), _>(io::ErrorKind::ConnectionAborted.into()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
    };
    tokio::select! {
        () = wait => Ok(()),
        gone = left => gone,
    }
}
