//! Names that a run gives to itself and to what it makes in git. Never generates one.

use serde::{Deserialize, Serialize};

/// Defines a transparent text newtype that prints as its text.
macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub String);

        impl $name {
            /// The text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(&self.0)
            }
        }
    };
}

text_id! {
    /// Id of a run: `<name>-<yymmdd>-<4 chars>`; also the name of its folder.
    RunId
}

text_id! {
    /// Id of a git commit, in hex.
    CommitId
}

text_id! {
    /// Id of a git tree, in hex.
    TreeId
}

text_id! {
    /// Name of a branch without `refs/heads/`.
    BranchName
}
