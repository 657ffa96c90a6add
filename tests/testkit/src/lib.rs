//! What tests of the other rooms stand on: a model server that speaks the wire from outside, sample
//! repositories, and programs that stand in for real ones. Depends on no other room, so that any of them can use it, and never reaches
//! beyond the loopback address and its own temporary folders.

pub mod model_server;
pub mod odd_repo;
pub mod repo;
pub mod script;
