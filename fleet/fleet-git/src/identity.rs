//! Who is named in commits. Never guesses a name from the machine's account or host name.

use crate::command::{Call, Purpose, Surroundings};
use std::path::Path;

/// A name and an address as git writes them; free of line ends and angle brackets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    name: String,
    email: String,
    source: IdentitySource,
}

/// Where an [`Identity`] comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdentitySource {
    /// The person's own settings of git.
    Person,
    /// The person has none; said to them, because it stands in their history.
    Fallback,
    /// An agent of the fleet.
    Agent,
}

impl Identity {
    /// Committer where the person has told git no name and address.
    pub(crate) fn fallback() -> Self {
        Self::new("codewhale", "codewhale@localhost", IdentitySource::Fallback)
    }

    /// Author of what an agent of this role made.
    #[must_use]
    pub fn agent(role: &str) -> Self {
        Self::new(
            &format!("codewhale {role}"),
            "codewhale@localhost",
            IdentitySource::Agent,
        )
    }

    /// The identity that git itself would sign commits in this folder with, if the person gave one.
    pub(crate) fn of_person(surroundings: &Surroundings, folder: &Path) -> Self {
        let ask = [
            "-c",
            "user.useConfigOnly=true",
            "var",
            "GIT_COMMITTER_IDENT",
        ];
        Call::new(surroundings, Purpose::Read, ask)
            .folder(folder)
            .run()
            .ok()
            .and_then(|answer| Self::parse(&answer.text()))
            .unwrap_or_else(Self::fallback)
    }

    /// Takes `Name <address> seconds zone` apart.
    fn parse(line: &str) -> Option<Self> {
        let (name, rest) = line.split_once(" <")?;
        let (email, _) = rest.split_once('>')?;
        Some(Self::new(name, email, IdentitySource::Person))
    }

    fn new(name: &str, email: &str, source: IdentitySource) -> Self {
        let clean = |text: &str| -> String {
            text.chars()
                .filter(|c| !matches!(c, '<' | '>' | '\n' | '\r' | '\0'))
                .collect::<String>()
                .trim()
                .to_owned()
        };
        Self {
            name: clean(name),
            email: clean(email),
            source,
        }
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The address.
    #[must_use]
    pub fn email(&self) -> &str {
        &self.email
    }

    /// Whether the person told git of it.
    #[must_use]
    pub fn is_person(&self) -> bool {
        self.source == IdentitySource::Person
    }

    /// Where it comes from.
    #[must_use]
    pub fn source(&self) -> IdentitySource {
        self.source
    }
}

impl std::fmt::Display for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} <{}>", self.name, self.email)
    }
}

#[cfg(test)]
mod tests {
    use super::{Identity, IdentitySource};

    #[test]
    fn names_that_would_break_a_commit_header_are_cleaned() {
        let check = |role: &str, wanted: &str| {
            assert_eq!(Identity::agent(role).to_string(), wanted);
        };
        check("builder", "codewhale builder <codewhale@localhost>");
        check("a<b>\nc", "codewhale abc <codewhale@localhost>");
    }

    #[test]
    fn the_answer_of_git_is_taken_apart() {
        let ada = Identity::parse("Ada von Ä <ada@example.invalid> 1767225600 +0100").unwrap();
        assert_eq!(ada.to_string(), "Ada von Ä <ada@example.invalid>");
        assert_eq!(ada.source(), IdentitySource::Person);
        assert_eq!(Identity::parse("no address"), None);
    }
}
