//! Work that does not merge, made ready for the builder who solves it: what both sides did, each conflict
//! by its kind, and the marked text. Never solves anything and never moves a branch.

use super::LandingJob;
use super::git::shown;
use engine_core::content::Content;
use engine_core::prompt::HANDOVER_MAX_BYTES;
use fleet_core::record::{LandingConflicted, Record, ReturnedWork};
use fleet_git::{Conflict, Conflicts, Repo, RepoError, ShortCommit};

/// Most commits of one side that are named.
const COMMITS_MAX: usize = 10;
/// Most conflicts that are named each by itself.
const CONFLICTS_MAX: usize = 40;
/// Most bytes of marked text: less than what an agent is told of one finding, so that nothing is cut.
const MARKED_MAX_BYTES: usize = HANDOVER_MAX_BYTES / 2;

/// Writes the merge with its marks, and says what is in conflict.
pub(super) fn returned(
    repo: &Repo,
    job: &LandingJob,
    conflicts: &Conflicts,
) -> Result<Record, RepoError> {
    repo.write_commit(&conflicts.marked)?;
    let report = Content::from(report(repo, job, conflicts)?);
    Ok(Record::from(LandingConflicted {
        task: job.agent.task.clone(),
        attempt: job.agent.attempt,
        onto: job.onto.clone(),
        paths: shown(&conflicts.paths),
        returned: Some(ReturnedWork {
            commit: job.commit.clone(),
            marked: conflicts.marked.id().clone(),
            report,
        }),
    }))
}

fn report(repo: &Repo, job: &LandingJob, conflicts: &Conflicts) -> Result<String, RepoError> {
    let landed = repo.commits_beyond(&job.commit, &job.onto, COMMITS_MAX)?;
    let own = repo.commits_beyond(&job.onto, &job.commit, COMMITS_MAX)?;
    let mut text = format!(
        "The work ({own}) passed, but others landed before it, and it does not merge with what they did.\n\
         The workspace now holds both: {landed} merged with {own} as far as git could. Where both changed \
         the same lines, the file holds both between marks: `<<<<<<< {landed}` what landed, `=======`, \
         `>>>>>>> {own}` the work. Solve each conflict so that what both wanted holds, and leave no mark. \
         Any file of either side is shown by `git show COMMIT:PATH`.\n",
        landed = job.onto,
        own = job.commit,
    );
    text.push_str("\nWhat landed before it:\n");
    text.push_str(&list_of(&landed));
    text.push_str("\nThe work:\n");
    text.push_str(&list_of(&own));
    text.push_str("\nConflicts:\n");
    for conflict in conflicts.found.iter().take(CONFLICTS_MAX) {
        text.push_str(&line_of(conflict));
    }
    if let Some(more) = conflicts.found.len().checked_sub(CONFLICTS_MAX + 1) {
        text.push_str(&format!("- and {} more\n", more + 1));
    }
    marked_texts(repo, job, conflicts, &mut text)?;
    Ok(text)
}

fn list_of(commits: &[ShortCommit]) -> String {
    let mut list: String = commits
        .iter()
        .map(|commit| format!("- {:.12} {}\n", commit.id, commit.title))
        .collect();
    if commits.len() == COMMITS_MAX {
        list.push_str("- perhaps more\n");
    }
    list
}

fn line_of(conflict: &Conflict) -> String {
    let paths: Vec<String> = conflict
        .paths
        .iter()
        .map(|path| format!("`{}`", path.display()))
        .collect();
    format!(
        "- {}: {}: {}\n",
        conflict.kind,
        paths.join(", "),
        conflict.message
    )
}

fn marked_texts(
    repo: &Repo,
    job: &LandingJob,
    conflicts: &Conflicts,
    text: &mut String,
) -> Result<(), RepoError> {
    let sides = [&job.onto, &job.commit];
    let mut room = MARKED_MAX_BYTES;
    for path in &conflicts.paths {
        let Some(marked) = repo.marked_text(conflicts.marked.id(), path, &sides)? else {
            continue;
        };
        let path = path.display();
        if marked.len() > room {
            text.push_str(&format!("\n`{path}` is marked too; see the file.\n"));
            continue;
        }
        room -= marked.len();
        text.push_str(&format!("\n`{path}`, {marked}"));
    }
    Ok(())
}
