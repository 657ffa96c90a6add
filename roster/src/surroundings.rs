//! What a roster may refer to outside its own text, handed in as values. Never reads the environment,
//! the home folder or the disk itself.

use crate::user_config::UserConfig;
use engine_core::provider::Wire;
use engine_core::tool::Access;

/// Everything outside the text that its meaning depends on.
#[derive(Clone, Copy)]
pub struct Surroundings<'a> {
    /// Folder of the file that is read, absolute: paths in it are relative to this.
    pub dir: &'a str,
    /// Root of the repository, absolute; `None`: there is none yet.
    pub repo: Option<&'a str>,
    /// The person's home folder, absolute; `None`: unknown, an error only where `~` is used.
    pub home: Option<&'a str>,
    /// Looks up an environment variable.
    pub env: &'a dyn Fn(&str) -> Option<String>,
    /// The user's own configuration, already read.
    pub user_config: Option<&'a UserConfig>,
    /// The providers that are built in.
    pub known_providers: &'a [KnownProvider<'a>],
    /// The tools that agents may have, each with the least access that has it.
    pub known_tools: &'a [(&'a str, Access)],
    /// Whether keys may travel unencrypted.
    pub insecure_http: InsecureHttp,
}

/// A provider that needs no declaration.
#[derive(Debug, Clone, Copy)]
pub struct KnownProvider<'a> {
    /// Its id: what stands before the `/` of a model.
    pub id: &'a str,
    /// Other names for it.
    pub aliases: &'a [&'a str],
    /// How it is spoken to.
    pub wire: Wire,
    /// Where it answers, without what its wire adds.
    pub base_url: &'a str,
    /// Environment variable that holds its key; `None`: it needs none.
    pub key_env: Option<&'a str>,
}

/// Whether a `http://` address outside this computer is accepted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum InsecureHttp {
    /// Only for loopback addresses.
    #[default]
    Refused,
    /// Everywhere: the person asked for it.
    Allowed,
}
