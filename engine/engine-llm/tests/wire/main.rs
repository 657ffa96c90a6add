//! The crate from outside: streams to answers, conversations to bodies, real sockets, scripts.

mod chat_body;
mod chat_stream;
mod http;
mod scripted;
mod support;
