//! The files an agent works on: found beneath one root, read as text, replaced whole.
//! Never reaches outside the root, whatever links lie inside it.

mod apart;
pub(crate) mod diff;
pub(crate) mod edit;
pub(crate) mod jail;
pub(crate) mod names;
pub(crate) mod replace;
pub(crate) mod text;
pub(crate) mod transaction;
pub(crate) mod view;
pub(crate) mod walk;
