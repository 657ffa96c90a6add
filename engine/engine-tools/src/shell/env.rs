//! What a command finds in its environment: a base list, what a person passed on, never a secret.
//! Never reads the environment of the process: it is given.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// Variables that every command may see when they are set. HOME and TMPDIR are not among them: the
/// sandbox has its own.
pub const BASE_VARIABLES: &[&str] = &[
    "PATH",
    "LANG",
    "LANGUAGE",
    "LC_ALL",
    "LC_CTYPE",
    "LC_MESSAGES",
    "TERM",
    "TZ",
    "USER",
    "LOGNAME",
    "SHELL",
    "SSH_AUTH_SOCK",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "GOMODCACHE",
    "JAVA_HOME",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
];

/// Toolchains that look below HOME when their variable is not set: they are pointed at the person's
/// own folders, which a confined command can read but not change.
const TOOL_FOLDERS: &[(&str, &str)] = &[
    ("CARGO_HOME", ".cargo"),
    ("RUSTUP_HOME", ".rustup"),
    ("GOMODCACHE", "go/pkg/mod"),
];

/// Settings under which git fails instead of asking, and runs no editor and no pager.
const NO_PROMPTS: &[(&str, &str)] = &[
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_ASKPASS", "false"),
    ("SSH_ASKPASS", "false"),
    ("SSH_ASKPASS_REQUIRE", "never"),
    ("GIT_SSH_COMMAND", "ssh -o BatchMode=yes"),
    ("GIT_EDITOR", "true"),
    ("GIT_SEQUENCE_EDITOR", "true"),
    ("EDITOR", "true"),
    ("VISUAL", "true"),
    ("GIT_PAGER", "cat"),
    ("PAGER", "cat"),
    ("GIT_MERGE_AUTOEDIT", "no"),
    ("DEBIAN_FRONTEND", "noninteractive"),
];

/// The environment of commands, without HOME and TMPDIR, which come from the sandbox's folder.
#[derive(Clone, Default)]
pub struct CommandEnv {
    variables: BTreeMap<OsString, OsString>,
}

impl CommandEnv {
    /// Takes the base list and `pass` from `variables`, the environment of this process.
    /// A name in `withheld` (the key variables of providers) is never taken, whatever `pass` says.
    #[must_use]
    pub fn inherit<I>(variables: I, pass: &[String], withheld: &[String]) -> Self
    where
        I: IntoIterator<Item = (OsString, OsString)>,
    {
        let named = |names: &[String], name: &OsStr| names.iter().any(|n| name == n.as_str());
        let mut home = None;
        let mut taken = BTreeMap::new();
        for (name, value) in variables {
            let wanted = BASE_VARIABLES.iter().any(|base| name == *base) || named(pass, &name);
            if wanted && !named(withheld, &name) {
                taken.insert(name, value);
            } else if name == "HOME" {
                home = Some(value);
            }
        }
        for (name, below) in TOOL_FOLDERS {
            let Some(folder) = home.as_ref().map(|home| Path::new(home).join(below)) else {
                break;
            };
            if !taken.contains_key(OsStr::new(name)) && folder.is_dir() {
                taken.insert(name.into(), folder.into());
            }
        }
        Self { variables: taken }
    }

    /// Sets one variable, for instance an identity for commits.
    #[must_use]
    pub fn with(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.variables.insert(name.into(), value.into());
        self
    }

    /// Everything a command gets: these variables, the sandbox's folders, and the settings that
    /// keep git from asking, which nothing overrides.
    pub(crate) fn complete(&self, home: &Path, temporary: &Path) -> BTreeMap<OsString, OsString> {
        let mut all = self.variables.clone();
        all.entry("HOME".into()).or_insert_with(|| home.into());
        all.insert("TMPDIR".into(), temporary.into());
        for (name, value) in NO_PROMPTS {
            all.insert(name.into(), value.into());
        }
        all
    }
}

/// Shows names only: a value may be something a person passed on in confidence.
impl std::fmt::Debug for CommandEnv {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.variables.keys()).finish()
    }
}
