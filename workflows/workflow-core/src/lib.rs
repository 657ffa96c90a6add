//! What a workflow script orders, as pure values: which task is which across runs of the script, what
//! the ledger already answers, and how far a script may go. Never runs a script, never touches a file,
//! a clock or a process; whoever drives a script brings its orders here and obeys the answers.
//!
//! A script runs again from its top after a crash or an edit. [`options::TaskOptions`] gives each
//! order a key by its content, [`matcher::Matcher`] finds that key in the [`history::History`] of the
//! ledger, and [`meter::Meter`] counts what the script uses against its [`limits::Limits`].

mod canonical;
pub mod history;
pub mod key;
pub mod limits;
pub mod matcher;
pub mod meter;
pub mod options;
