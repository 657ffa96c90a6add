//! `roster.toml`: what a person writes, read into a validated [`Roster`] and its plan, or into everything
//! that is wrong with it at once. Never opens a file, never reads the environment, never prints: what a
//! roster refers to outside its text comes in as [`Surroundings`].
//!
//! The way of a text: `syntax` makes TOML of it even where it is broken, `walk` checks every key and value
//! along the tables of `schema`, `resolve` joins the tables to a plan. Each step adds to one list of
//! findings and stops at none.

mod diagnostic;
mod fault;
mod graph;
mod limits;
mod load;
mod near;
mod plan;
mod providers;
pub mod render;
mod resolve;
mod role_rules;
mod roles;
mod said;
mod schema;
mod source;
mod surroundings;
mod syntax;
pub mod tables;
mod tasks;
mod template;
mod tree;
mod user_config;
mod value;
mod walk;

#[cfg(test)]
mod testing;

pub use diagnostic::{Code, Diagnostic, Related, Severity};
pub use load::{NamedPath, PathSort, Roster, TEXT_MAX_BYTES, load};
pub use plan::{KeyState, Plan, PlannedProvider, PlannedTask};
pub use roles::{BUILT_IN_ROLES, BuiltInRole};
pub use schema::schema;
pub use source::{Position, Source, Span};
pub use surroundings::{InsecureHttp, KnownProvider, Surroundings};
pub use template::{RepoFacts, template};
pub use user_config::{UserConfig, parse_user_config};
