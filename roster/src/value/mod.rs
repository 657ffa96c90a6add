//! The values behind the keys: from what TOML holds to what the plan needs. Knows no other value and no
//! position.

mod address;
mod duration;
mod expand;
mod leaf;
mod model;
mod name;
mod path;

pub(crate) use address::host;
pub(crate) use duration::shown as shown_duration;
pub(crate) use leaf::{Leaf, Site, leaf, wrong_type};
#[cfg(test)]
pub(crate) use name::is_variable;
pub(crate) use name::{check as check_name, repaired as repaired_name};
