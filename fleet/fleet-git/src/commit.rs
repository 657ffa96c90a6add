//! Commits whose id is known before they are written: the bytes are made here, recorded by the
//! caller, and written as often as it takes. Never runs a hook, never signs, never reads a clock.

use crate::command::Purpose;
use crate::identity::Identity;
use crate::refs::{Moved, full_name};
use crate::repo::{Repo, RepoError};
use fleet_core::ids::{BranchName, CommitId, TreeId};
use git2::{ObjectType, Oid};

/// Seconds since 1970 in UTC; commits of the fleet are dated in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnixSeconds(pub i64);

/// Everything that determines a commit besides the committer.
#[derive(Debug, Clone, Copy)]
pub struct CommitIntent<'a> {
    /// What it holds.
    pub tree: &'a TreeId,
    /// What it follows; the first is the branch it is made on.
    pub parents: &'a [CommitId],
    /// Its message; gets a line end if it has none.
    pub message: &'a str,
    /// Role of the agent whose work it is.
    pub role: &'a str,
    /// When it is said to be made.
    pub at: UnixSeconds,
}

/// A commit that may or may not be written yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitPlan {
    id: CommitId,
    text: String,
}

impl CommitPlan {
    /// The id it has or will have.
    #[must_use]
    pub fn id(&self) -> &CommitId {
        &self.id
    }

    /// The exact content of the commit object; what to record so that it can be made again.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The plan that was recorded as this text.
    #[must_use]
    pub fn from_text(text: String) -> Self {
        let id = Oid::hash_object(ObjectType::Commit, text.as_bytes())
            .expect("hashing bytes in memory cannot fail");
        Self {
            id: CommitId(id.to_string()),
            text,
        }
    }
}

impl Repo {
    /// The commit that an intent makes, with the person as committer. Writes nothing.
    #[must_use]
    pub fn plan_commit(&self, intent: &CommitIntent<'_>) -> CommitPlan {
        plan(intent, self.identity())
    }

    /// Writes the commit object, so that it survives a power cut; a second time is free.
    ///
    /// # Errors
    /// When its tree or a parent is missing, or git cannot write.
    pub fn write_commit(&self, plan: &CommitPlan) -> Result<(), RepoError> {
        let args = ["hash-object", "-t", "commit", "-w", "--stdin"];
        self.require_parts(plan)?;
        self.call(Purpose::Write, args)
            .input(plan.text.as_bytes())
            .run()?;
        Ok(())
    }

    /// Writes the commit and moves a branch from `old` to it.
    ///
    /// # Errors
    /// As [`Self::write_commit`], or when the ref cannot be written.
    pub fn make_commit(
        &self,
        plan: &CommitPlan,
        branch: &BranchName,
        old: &CommitId,
    ) -> Result<Moved, RepoError> {
        self.write_commit(plan)?;
        self.move_ref(&full_name(branch), Some(old), &plan.id)
    }

    /// Git writes a commit of things that do not exist without a word.
    fn require_parts(&self, plan: &CommitPlan) -> Result<(), RepoError> {
        let repository = self.open()?;
        for line in plan.text.lines().take_while(|line| !line.is_empty()) {
            let Some((word, id)) = line.split_once(' ') else {
                continue;
            };
            match word {
                "tree" => drop(repository.find_tree(Oid::from_str(id)?)?),
                "parent" => drop(repository.find_commit(Oid::from_str(id)?)?),
                _ => {}
            }
        }
        Ok(())
    }
}

/// The bytes of a commit object: the format of `git help cat-file`, headers in git's order.
pub(crate) fn plan(intent: &CommitIntent<'_>, committer: &Identity) -> CommitPlan {
    use std::fmt::Write;
    let UnixSeconds(at) = intent.at;
    let mut text = format!("tree {}\n", intent.tree);
    for parent in intent.parents {
        let _ = writeln!(text, "parent {parent}");
    }
    let author = Identity::agent(intent.role);
    let _ = writeln!(text, "author {author} {at} +0000");
    let _ = writeln!(text, "committer {committer} {at} +0000\n");
    // A NUL would end the message for every reader of it.
    text.push_str(&intent.message.replace('\0', ""));
    if !text.ends_with('\n') {
        text.push('\n');
    }
    CommitPlan::from_text(text)
}

#[cfg(test)]
mod tests {
    use super::{CommitIntent, CommitPlan, UnixSeconds, plan};
    use crate::identity::Identity;
    use fleet_core::ids::{CommitId, TreeId};

    #[test]
    fn the_same_intent_gives_the_same_bytes_and_survives_being_recorded() {
        let tree = TreeId("4b825dc642cb6eb9a060e54bf8d69288fbee4904".into());
        let parents = [CommitId("1".repeat(40)), CommitId("2".repeat(40))];
        let intent = CommitIntent {
            tree: &tree,
            parents: &parents,
            message: "Land tests\0",
            role: "builder",
            at: UnixSeconds(1_767_225_600),
        };
        let first = plan(&intent, &Identity::fallback());
        assert_eq!(first, plan(&intent, &Identity::fallback()));
        assert_eq!(first, CommitPlan::from_text(first.text().to_owned()));
        insta::assert_snapshot!(first.text(), @"
        tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904
        parent 1111111111111111111111111111111111111111
        parent 2222222222222222222222222222222222222222
        author codewhale builder <codewhale@localhost> 1767225600 +0000
        committer codewhale <codewhale@localhost> 1767225600 +0000

        Land tests
        ");
    }
}
