//! The model server as a client sees it that is none of ours: plain sockets.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use testkit::model_server::{Gate, ModelServer, Reply, Script};

const GOOD: &str =
    r#"{"model":"m","stream":true,"max_tokens":9,"messages":[{"role":"user","content":"go A"}]}"#;
const BLANK: &str =
    r#"{"model":"m","stream":true,"max_tokens":9,"messages":[{"role":"user","content":" "}]}"#;

fn send(server: &ModelServer, body: &str) -> TcpStream {
    let base = server.base_url();
    let host = base.trim_start_matches("http://").trim_end_matches("/v1");
    let mut socket = TcpStream::connect(host).expect("the server listens");
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    socket
        .write_all(format!("{head}{body}").as_bytes())
        .expect("the server reads");
    socket
}

/// Everything up to the end of the chunked body, or of the connection.
fn receive(mut socket: TcpStream) -> String {
    let mut received = Vec::new();
    let mut buffer = [0; 4096];
    while !received.ends_with(b"0\r\n\r\n") {
        match socket.read(&mut buffer) {
            Ok(0) | Err(_) => break,
            Ok(count) => received.extend_from_slice(&buffer[..count]),
        }
    }
    String::from_utf8(received).expect("the server sends UTF-8 here")
}

#[test]
fn an_answer_is_a_whole_stream_with_usage() {
    let server = ModelServer::playing([Reply::text("hi there").usage(10, 5)]);
    let received = receive(send(&server, GOOD));
    assert!(received.starts_with("HTTP/1.1 200 "), "{received}");
    for part in [r#""content":"there""#, r#""prompt_tokens":10"#, "[DONE]"] {
        assert!(received.contains(part), "{part} in {received}");
    }
}

#[test]
fn a_request_that_breaks_a_rule_is_refused_and_told() {
    let server = ModelServer::playing([Reply::text("never")]);
    let received = receive(send(&server, BLANK));
    let rule = "message 0 (user): it is empty or blank";
    assert!(received.starts_with("HTTP/1.1 400 "), "{received}");
    assert!(received.contains(rule), "{received}");
    assert_eq!(server.seen().broken_rules, [rule]);
}

#[test]
fn a_script_finds_its_reply_by_marker_and_turn() {
    let script = Script::new()
        .turn("B", 1, Reply::text("for-b"))
        .turn("A", 2, Reply::text("too-late"))
        .turn("A", 1, Reply::text("for-a"));
    let server = ModelServer::scripted(script);
    assert!(receive(send(&server, GOOD)).contains("for-a"));
    let other = GOOD.replace("go A", "go C");
    assert!(receive(send(&server, &other)).contains("no reply for turn 1 of `go C`"));
}

#[test]
fn requests_in_flight_are_counted_while_a_gate_holds_them() {
    let gate = Gate::closed();
    let held = gate.clone();
    let server = ModelServer::answering(move |_| Reply::text("ok").after(&held));
    let clients: Vec<TcpStream> = (0..3).map(|_| send(&server, GOOD)).collect();
    server.wait_until(|seen| seen.in_flight == 3);
    gate.open();
    for client in clients {
        assert!(receive(client).contains("[DONE]"));
    }
    server.wait_until(|seen| seen.in_flight == 0);
    assert_eq!(server.seen().peak, 3);
}

#[test]
fn faults_happen_where_they_were_put() {
    let server = ModelServer::playing([
        Reply::bytes().send_bytewise("ab").cut(),
        Reply::bytes().send("ab").reset(),
        Reply::bytes().send("ab").stall(),
    ]);
    let cut = receive(send(&server, GOOD));
    assert!(cut.ends_with("1\r\na\r\n1\r\nb\r\n"), "{cut}");
    assert!(!receive(send(&server, GOOD)).ends_with("0\r\n\r\n"));
    drop(send(&server, GOOD));
    server.wait_until(|seen| seen.abandoned == 1 && seen.in_flight == 0);
}
