//! Taking a run's work onto a branch of the person's, as they would do it themselves: their hooks, their
//! identity, their signing. What does not fit is found before anything is touched; what their git refuses
//! is put back. Never moves another branch than the one named, and never over what somebody else did.

use crate::command::{GitError, GitFailure};
use crate::conflict::Conflicts;
use crate::merge::{MergeNote, MergePlan};
use crate::refs::full_name;
use crate::repo::{Repo, RepoError, find_commit};
use crate::standing::{self, Index, Standing};
use fleet_core::ids::{BranchName, CommitId, TreeId};
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

/// Hooks that a merge runs in a checkout.
const HOOKS: [&str; 4] = [
    "pre-merge-commit",
    "prepare-commit-msg",
    "commit-msg",
    "post-merge",
];

/// Work to be taken.
#[derive(Debug, Clone, Copy)]
pub struct Homeward<'a> {
    /// The person's branch.
    pub branch: &'a BranchName,
    /// The head of the work.
    pub head: &'a CommitId,
    /// What a merge commit says, if one is needed.
    pub note: MergeNote<'a>,
}

/// Work that is on the person's branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home {
    /// How it got there.
    pub how: Arrival,
    /// The commit that brought it: the merge, or the head of the work itself.
    pub commit: CommitId,
    /// The checkout in which it was done; `None`: only the branch was moved.
    pub checkout: Option<PathBuf>,
    /// The person's hooks that there was no checkout to run in.
    pub hooks_not_run: Vec<&'static str>,
}

/// How work got onto a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Arrival {
    /// It was there already.
    Found,
    /// The branch was moved forward to it.
    FastForward {
        /// From there.
        before: CommitId,
    },
    /// A merge commit was made.
    Merge {
        /// On this one.
        before: CommitId,
    },
}

/// Why work was not taken. Nothing was changed then, unless it says so.
#[derive(Debug, thiserror::Error)]
pub enum HomewardError {
    /// The branch does not exist.
    #[error("there is no branch `{0}`")]
    NoBranch(BranchName),
    /// Something is half done in a checkout of the branch.
    #[error("{what} is under way in {}", at.display())]
    Busy {
        /// The checkout, or the folder of it inside the git folder.
        at: PathBuf,
        /// What.
        what: &'static str,
    },
    /// The person's uncommitted work is in the way.
    #[error("uncommitted work in {} is in the way", at.display())]
    InTheWay {
        /// The checkout.
        at: PathBuf,
        /// What of it.
        paths: Vec<PathBuf>,
    },
    /// Both sides changed the same things.
    #[error("the work does not merge with what `{branch}` holds")]
    Conflict {
        /// The branch.
        branch: BranchName,
        /// Where and how.
        conflicts: Conflicts,
    },
    /// A merge commit needs a name.
    #[error("git does not know who you are, and a merge commit needs a name")]
    Nameless,
    /// Git, or a hook of the person, said no. It was put back.
    #[error("git refused it; everything is as it was before")]
    Refused(#[source] GitError),
    /// Git said no half-way, and could not put it back.
    #[error("git refused it half-way in {}, and it could not be put back", at.display())]
    HalfWay {
        /// The checkout.
        at: PathBuf,
        /// What git said first.
        source: GitError,
    },
    /// Somebody moved the branch at the same time.
    #[error("`{0}` was moved by somebody else at the same time")]
    Moved(BranchName),
    /// Something could not be read or written.
    #[error(transparent)]
    Repo(#[from] RepoError),
}

impl From<GitError> for HomewardError {
    fn from(error: GitError) -> Self {
        Self::Repo(error.into())
    }
}

impl From<git2::Error> for HomewardError {
    fn from(error: git2::Error) -> Self {
        Self::Repo(error.into())
    }
}

/// What a merge leads to.
enum Target<'a> {
    Forward(&'a CommitId),
    Merge(TreeId),
}

impl Repo {
    /// Takes work onto a branch of the person's. A branch that is checked out is merged there, as
    /// `git merge` does it; one that is checked out nowhere is moved, and no checkout is touched. A second
    /// time finds it done.
    ///
    /// # Errors
    /// See [`HomewardError`].
    pub fn bring_home(&self, wish: &Homeward<'_>) -> Result<Home, HomewardError> {
        let branch = wish.branch;
        let tip = self
            .branch_tip(branch)?
            .ok_or_else(|| HomewardError::NoBranch(branch.clone()))?;
        let target = match self.plan_merge(&tip, wish.head, &wish.note)? {
            MergePlan::AlreadyThere => {
                return Ok(Home {
                    how: Arrival::Found,
                    commit: self.brought_by(&tip, wish.head)?,
                    checkout: None,
                    hooks_not_run: Vec::new(),
                });
            }
            MergePlan::FastForward { .. } => Target::Forward(wish.head),
            MergePlan::Merge { tree, .. } => Target::Merge(tree),
            MergePlan::Conflict(conflicts) => {
                return Err(HomewardError::Conflict {
                    branch: branch.clone(),
                    conflicts,
                });
            }
        };
        if matches!(target, Target::Merge(_)) && !self.identity().is_person() {
            return Err(HomewardError::Nameless);
        }
        match standing::on(self, branch)? {
            Some(standing) => self.merge_there(wish, &standing, &tip, &target),
            None => self.move_alone(wish, &tip, &target),
        }
    }

    /// The commit on the first line of a branch that brought some work: the work's own head, or the merge.
    fn brought_by(&self, tip: &CommitId, head: &CommitId) -> Result<CommitId, RepoError> {
        let repository = self.open()?;
        let head = find_commit(&repository, head)?.id();
        let mut commit = find_commit(&repository, tip)?;
        while commit.id() != head {
            let Ok(before) = commit.parent(0) else { break };
            if before.id() != head && !repository.graph_descendant_of(before.id(), head)? {
                break;
            }
            commit = before;
        }
        Ok(CommitId(commit.id().to_string()))
    }

    fn merge_there(
        &self,
        wish: &Homeward<'_>,
        standing: &Standing,
        tip: &CommitId,
        target: &Target<'_>,
    ) -> Result<Home, HomewardError> {
        let repository = self.open()?;
        let old = find_commit(&repository, tip)?.tree()?;
        let new = match target {
            Target::Forward(head) => find_commit(&repository, head)?.tree()?,
            Target::Merge(tree) => repository.find_tree(git2::Oid::from_str(tree.as_str())?)?,
        };
        standing.is_free()?;
        let touched = standing::touched(&repository, &old, &new)?;
        let index = match target {
            Target::Forward(_) => Index::Any,
            Target::Merge(_) => Index::OfHead,
        };
        standing.has_room(self, &touched, index)?;
        standing.holds_nothing_else(&old, &touched)?;

        let mut args: Vec<OsString> = ["merge", "--quiet", "--no-edit", "--no-autostash"]
            .map(OsString::from)
            .to_vec();
        match target {
            Target::Forward(_) => args.push("--ff-only".into()),
            Target::Merge(_) => {
                args.extend(["--no-ff".into(), "-m".into(), wish.note.message.into()]);
            }
        }
        args.push(wish.head.as_str().into());
        let kept = standing.keep()?;
        match self.persons_call(args).folder(&standing.checkout).run() {
            Ok(_) => {}
            Err(error) if self.holds(wish)? => {
                // It was done, and something after it failed: a hook that only hears of it.
                tracing::warn!(%error, "git merged and then said no");
            }
            Err(error) => {
                let back = standing.put_back(self, wish.head, kept);
                let is_moved = self.branch_tip(wish.branch)?.as_ref() != Some(tip);
                return Err(match back {
                    Ok(()) if is_moved => HomewardError::Moved(wish.branch.clone()),
                    Ok(()) => HomewardError::Refused(error),
                    Err(second) => {
                        tracing::warn!(%second, "a refused merge could not be put back");
                        HomewardError::HalfWay {
                            at: standing.checkout.clone(),
                            source: error,
                        }
                    }
                });
            }
        }
        let now = self.branch_tip(wish.branch)?;
        let now = now.ok_or_else(|| HomewardError::NoBranch(wish.branch.clone()))?;
        Ok(Home {
            how: arrival(target, tip),
            commit: self.brought_by(&now, wish.head)?,
            checkout: Some(standing.checkout.clone()),
            hooks_not_run: Vec::new(),
        })
    }

    /// Whether the person's branch holds the work by now.
    fn holds(&self, wish: &Homeward<'_>) -> Result<bool, RepoError> {
        match self.branch_tip(wish.branch)? {
            Some(tip) => self.is_below(wish.head, &tip),
            None => Ok(false),
        }
    }

    /// Moves a branch that is checked out nowhere.
    fn move_alone(
        &self,
        wish: &Homeward<'_>,
        tip: &CommitId,
        target: &Target<'_>,
    ) -> Result<Home, HomewardError> {
        let (commit, hooks) = match target {
            Target::Forward(head) => ((*head).clone(), &HOOKS[3..]),
            Target::Merge(tree) => (self.persons_merge(wish, tip, tree)?, &HOOKS[..]),
        };
        let name = full_name(wish.branch);
        let log = format!("codewhale: land {}", wish.head);
        let args = [
            "update-ref",
            "-m",
            &log,
            &name,
            commit.as_str(),
            tip.as_str(),
        ];
        if let Err(error) = self.persons_call(args).run() {
            return match self.branch_tip(wish.branch)? {
                Some(found) if found == commit => Err(error.into()),
                Some(found) if found == *tip => Err(HomewardError::Refused(error)),
                _ => Err(HomewardError::Moved(wish.branch.clone())),
            };
        }
        Ok(Home {
            how: arrival(target, tip),
            commit,
            checkout: None,
            hooks_not_run: self.hooks_among(hooks)?,
        })
    }

    /// A merge commit by the person, signed where they sign their commits.
    fn persons_merge(
        &self,
        wish: &Homeward<'_>,
        tip: &CommitId,
        tree: &TreeId,
    ) -> Result<CommitId, HomewardError> {
        let ask = ["config", "--type=bool", "--get", "commit.gpgsign"];
        let signs = self.persons_call(ask).accept(&[0, 1]).run()?.text() == "true";
        let mut args = vec!["commit-tree", tree.as_str(), "-p", tip.as_str()];
        args.extend(["-p", wish.head.as_str(), "-F", "-"]);
        if signs {
            args.push("-S");
        }
        let made = self.persons_call(args).input(wish.note.message).run();
        match made {
            Ok(answer) => Ok(CommitId(answer.text())),
            Err(error) if matches!(error.failure, GitFailure::Exit(_)) => {
                Err(HomewardError::Refused(error))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Those of some hooks that the person has.
    fn hooks_among(&self, hooks: &'static [&'static str]) -> Result<Vec<&'static str>, RepoError> {
        let ask = ["rev-parse", "--git-path", "hooks"];
        let answer = self.persons_call(ask).run()?;
        let folder = self.toplevel().join(answer.text());
        let has = |hook: &&&str| {
            let found = std::fs::metadata(folder.join(hook));
            found.is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
        };
        Ok(hooks.iter().filter(has).copied().collect())
    }
}

fn arrival(target: &Target<'_>, tip: &CommitId) -> Arrival {
    let before = tip.clone();
    match target {
        Target::Forward(_) => Arrival::FastForward { before },
        Target::Merge(_) => Arrival::Merge { before },
    }
}
