//! The crate from outside: streams to answers, conversations to bodies, real sockets, scripts.

mod both;
mod chat_body;
mod chat_stream;
mod documents;
mod http;
mod messages_body;
mod messages_stream;
mod scripted;
mod support;
