//! The rules that look at one Rust file: each takes its facts and returns the places that break it.
//! Never reads a file, never knows which files are excepted.

pub mod calls;
pub mod comments;
pub mod shape;

use crate::finding::Finding;
use crate::source::Source;

/// A finding in this file.
fn found(source: &Source, line: usize, what: impl Into<String>) -> Finding {
    Finding {
        file: source.path.clone(),
        line,
        what: what.into(),
    }
}

#[cfg(test)]
mod tests;
