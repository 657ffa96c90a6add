//! The house rules as tests over the source tree. This library reads the tree into plain facts and
//! holds the rules as functions over them; the files in `tests/` apply one rule each. Never changes a
//! file, and never judges what the compiler or clippy already refuses.

pub mod finding;
pub mod rules;
pub mod source;
pub mod tree;
