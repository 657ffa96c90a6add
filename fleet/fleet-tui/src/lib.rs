//! How a run looks in a terminal: pure pictures of its state, and the one place that draws them.
//! Never reads a ledger, decides anything or takes keys: what is drawn is handed in.

pub mod inline;
pub mod line;
pub mod paint;
pub mod picture;
pub mod table;
pub mod text;
pub mod words;
