//! The process dies before or after each of its git calls; the next process comes to the same end
//! as one that was never disturbed.

use crate::place::{FIRST, NOON, Place, task};
use fleet_core::ids::{BranchName, RunId};
use fleet_git::{CommitIntent, MergeNote, MergePlan, Repo, Workspaces};
use std::error::Error;
use std::fs;

type Outcome = Result<(), Box<dyn Error>>;

/// Plays dead from the call that is named in `arm` on: `<number> before|after`.
const MORTAL_GIT: &str = r#"
PATH=$REAL
arm=$HOME/arm
[ -f "$arm" ] || exec git "$@"
read -r from when < "$arm"
echo x >> "$HOME/calls"
number=$(wc -l < "$HOME/calls")
[ "$number" -lt "$from" ] && exec git "$@"
[ "$number" -eq "$from" ] && [ "$when" = after ] && git "$@"
kill -9 $$
"#;

fn workspaces(place: &Place) -> Workspaces {
    let surroundings = place.surroundings_with_git(MORTAL_GIT);
    let repo = Repo::discover_in(&place.path("R"), surroundings).unwrap();
    Workspaces::new(repo, &place.path("wt"), &RunId("r".into()), &[])
}

/// Dies at every call, comes back, and compares with a life without death.
fn check(prepare: fn(&Place), act: fn(&Place, &Workspaces) -> Outcome) {
    let undisturbed = Place::with_repo();
    prepare(&undisturbed);
    act(&undisturbed, &workspaces(&undisturbed)).unwrap();
    let wanted = undisturbed.state();
    act(&undisturbed, &workspaces(&undisturbed)).unwrap();
    assert_eq!(
        undisturbed.state(),
        wanted,
        "a repetition changes something"
    );

    for call in 1.. {
        let mut died = 0;
        for when in ["before", "after"] {
            let place = Place::with_repo();
            prepare(&place);
            let mortal = workspaces(&place);
            fs::write(place.path("home/arm"), format!("{call} {when}\n")).unwrap();
            died += usize::from(act(&place, &mortal).is_err());
            fs::remove_file(place.path("home/arm")).unwrap();
            act(&place, &workspaces(&place)).unwrap();
            assert_eq!(place.state(), wanted, "died {when} call {call}");
        }
        if died == 0 {
            assert!(call > 1, "the action makes no call");
            return;
        }
    }
}

fn nothing(_: &Place) {}

fn with_work(place: &Place) {
    let (_, workspace) = place.workspace();
    place.write(workspace.path(), &[("f", "work\n"), ("new", "n")]);
}

fn folder(place: &Place) -> std::path::PathBuf {
    place.path("wt").join(place.repo().hash()).join("r/one.1")
}

#[test]
fn making_a_work_folder() {
    check(nothing, |place, workspaces| {
        let base = place.repo().head()?;
        workspaces.for_task(&task("one"), FIRST, &base)?;
        Ok(())
    });
}

#[test]
fn making_a_shared_and_a_clean_checkout() {
    check(nothing, |place, workspaces| {
        let base = place.repo().head()?;
        workspaces.read_only(&base)?;
        drop(workspaces.clean_checkout(&base)?);
        Ok(())
    });
}

#[test]
fn taking_a_snapshot_and_putting_back() {
    check(with_work, |place, workspaces| {
        let workspace = workspaces.reopen(&folder(place))?;
        workspaces.snapshot(&workspace, "s", NOON)?;
        Ok(())
    });
    check(with_work, |place, workspaces| {
        let workspace = workspaces.reopen(&folder(place))?;
        workspaces.restore(&workspace, workspace.base())?;
        Ok(())
    });
}

#[test]
fn resuming_an_attempt_whose_folder_is_gone() {
    check(
        |place| {
            with_work(place);
            fs::remove_dir_all(folder(place)).unwrap();
        },
        |place, workspaces| {
            let base = place.repo().head()?;
            workspaces.resume(&task("one"), FIRST, &base, &base)?;
            Ok(())
        },
    );
}

#[test]
fn committing_and_landing() {
    check(
        |place| {
            with_work(place);
            let base = place.repo().head().unwrap();
            let other = place.commit("R", &[("other", "x")], "other");
            let branch = BranchName("codewhale/r/integration".into());
            place.repo().create_branch(&branch, &other).unwrap();
            place.git("R", &["reset", "-q", "--hard", base.as_str()]);
        },
        |place, workspaces| {
            let repo = workspaces.repo();
            let workspace = workspaces.reopen(&folder(place))?;
            let base = workspace.base().clone();
            let snapshot = workspaces.snapshot(&workspace, "s", NOON)?;
            let plan = repo.plan_commit(&CommitIntent {
                tree: &snapshot.tree,
                parents: std::slice::from_ref(&base),
                message: "work",
                role: "builder",
                at: NOON,
            });
            workspaces.commit(&workspace, &plan, &base)?;
            let branch = BranchName("codewhale/r/integration".into());
            let onto = repo.branch_tip(&branch)?.unwrap();
            let note = MergeNote {
                message: "land",
                role: "builder",
                at: NOON,
            };
            if let MergePlan::Merge { commit, .. } = repo.plan_merge(&onto, plan.id(), &note)? {
                repo.write_commit(&commit)?;
                repo.advance(&branch, &onto, commit.id())?;
            }
            Ok(())
        },
    );
}

#[test]
fn taking_a_folder_away() {
    check(
        |place| drop(place.workspace()),
        |place, workspaces| match workspaces.reopen(&folder(place)) {
            Ok(workspace) => {
                workspaces.remove(&workspace)?;
                Ok(())
            }
            Err(fleet_git::WorkspaceError::Gone(_)) => Ok(()),
            Err(error) => Err(error.into()),
        },
    );
}

#[test]
fn giving_a_folder_up_and_using_it_again() {
    check(
        |place| {
            let (_, workspace) = place.workspace();
            let branch = BranchName("codewhale/r/integration".into());
            place
                .repo()
                .create_branch(&branch, workspace.base())
                .unwrap();
        },
        |place, workspaces| {
            match workspaces.reopen(&folder(place)) {
                Ok(workspace) => drop(workspaces.retire(&workspace)?),
                Err(fleet_git::WorkspaceError::Gone(_)) => {}
                Err(error) => return Err(error.into()),
            }
            let base = place.repo().head()?;
            workspaces.for_task(&task("two"), FIRST, &base)?;
            workspaces.discard_checkouts()?;
            Ok(())
        },
    );
}
