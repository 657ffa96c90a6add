//! What the kernel holds a command to, as a value. Never confines anything: the helper does.

use serde::{Deserialize, Serialize};

/// How much of what was asked of the kernel it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hold {
    /// All that was asked.
    Full,
    /// Only a part: the kernel is too old for the rest.
    Partial,
    /// Nothing, although it was asked.
    None,
    /// Nothing, and nothing was asked.
    Open,
}

/// What the kernel holds a command to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confinement {
    /// Writes only in the granted places.
    pub files: Hold,
    /// No sockets but local ones.
    pub network: Hold,
}

impl Confinement {
    /// Nothing was asked.
    pub const OPEN: Self = Self {
        files: Hold::Open,
        network: Hold::Open,
    };

    /// True when a command can have changed nothing outside the granted places and reached nobody.
    #[must_use]
    pub fn is_sealed(&self) -> bool {
        self.files == Hold::Full && self.network == Hold::Full
    }

    /// What is held less than asked, as one sentence for people and models; `None` when all is held.
    #[must_use]
    pub fn shortfall(&self) -> Option<String> {
        let lack = |hold, what: &str| match hold {
            Hold::Full | Hold::Open => None,
            Hold::Partial => Some(format!("{what} only in part")),
            Hold::None => Some(format!("{what} not at all")),
        };
        let lacks: Vec<String> = [lack(self.files, "files"), lack(self.network, "network")]
            .into_iter()
            .flatten()
            .collect();
        (!lacks.is_empty())
            .then(|| format!("this kernel confines the command's {}", lacks.join(", ")))
    }
}
