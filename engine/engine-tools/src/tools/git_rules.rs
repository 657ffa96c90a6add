//! Which git command lines only read, as one pure decision. Never runs git.
//!
//! A subcommand is allowed by name. Of its options, those that write a file, run a program, or read
//! outside the repository are refused, also when shortened, which git allows. The sandbox stands
//! behind these rules: what slips through still writes nowhere and reaches nobody.

/// Subcommands that read, with the options that are refused besides [`REFUSED_ALWAYS`].
const ALLOWED: &[(&str, &[&str])] = &[
    ("status", &[]),
    ("log", DIFFERENCE),
    ("show", DIFFERENCE),
    ("diff", DIFFERENCE),
    ("blame", &["--contents", "--textconv", "--ignore-revs-file"]),
    (
        "grep",
        &[
            "--open-files-in-pager",
            "--no-index",
            "--textconv",
            "--file",
        ],
    ),
    ("ls-files", &["--exclude-from", "--exclude-per-directory"]),
    ("ls-tree", &[]),
    ("cat-file", &["--textconv", "--filters"]),
    ("rev-parse", &[]),
    ("rev-list", &[]),
    ("merge-base", &[]),
    ("describe", &[]),
    ("shortlog", &[]),
    ("branch", &[]),
    ("tag", &[]),
];

/// What commands that show differences must not be told.
const DIFFERENCE: &[&str] = &["--ext-diff", "--textconv", "--no-index", "--show-signature"];

/// Options that write, run or ask, of whatever subcommand.
const REFUSED_ALWAYS: &[&str] = &[
    "--output",
    "--output-directory",
    "--exec-path",
    "--upload-pack",
];

/// Whole options that begin a refused one and are harmless: git takes an exact name first.
const HARMLESS: &[&str] = &["--text", "--no-in-indent"];

/// `branch` and `tag` change something unless one of these comes first.
const LISTING: &[&str] = &["--list", "-l", "--show-current", "-a", "-r", "-v", "-vv"];

/// What changes something even beside a listing option.
const CHANGING: &[&str] = &[
    "--delete",
    "--move",
    "--copy",
    "--force",
    "--edit-description",
    "--set-upstream-to",
    "--unset-upstream",
    "--create-reflog",
    "--track",
    "--annotate",
    "--sign",
    "--local-user",
    "--file",
    "--edit",
    "--message",
    "--cleanup",
];

/// Why a git command line is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GitRefusal {
    /// There is no subcommand.
    #[error("`args` is empty; begin with a subcommand, for instance `status`")]
    Nothing,
    /// The subcommand is not among those that only read.
    #[error("`git {0}` is not allowed here; allowed are {names}", names = names())]
    Subcommand(String),
    /// An option could write, run a program, or read outside.
    #[error(
        "`{0}` is not allowed here: it could write, run a program, or read outside the workspace"
    )]
    Option(String),
    /// `branch` or `tag` without a listing option.
    #[error("`git {0}` only lists here: begin with `--list`")]
    OnlyLists(String),
}

fn names() -> String {
    let names: Vec<&str> = ALLOWED.iter().map(|(name, _)| *name).collect();
    names.join(", ")
}

/// Whether a command line (without `git` itself) only reads.
///
/// # Errors
/// When it might do anything else.
pub(crate) fn check(args: &[String]) -> Result<(), GitRefusal> {
    let (subcommand, rest) = args.split_first().ok_or(GitRefusal::Nothing)?;
    let (_, refused) = ALLOWED
        .iter()
        .find(|(name, _)| name == subcommand)
        .ok_or_else(|| GitRefusal::Subcommand(subcommand.clone()))?;
    let options: Vec<&String> = rest.iter().take_while(|arg| *arg != "--").collect();
    for arg in &options {
        let bad = matches_any(arg, REFUSED_ALWAYS)
            || matches_any(arg, refused)
            || (subcommand == "grep" && short_options_run_or_read(arg))
            || (subcommand == "diff" && leads_out(arg));
        if bad {
            return Err(GitRefusal::Option((*arg).clone()));
        }
    }
    if subcommand == "diff"
        && let Some(path) = rest.iter().find(|arg| leads_out(arg))
    {
        return Err(GitRefusal::Option(path.clone()));
    }
    if matches!(subcommand.as_str(), "branch" | "tag") {
        only_lists(subcommand, rest)?;
    }
    Ok(())
}

/// True when the argument is one of the options, whole, shortened, or with a value.
fn matches_any(arg: &str, options: &[&str]) -> bool {
    let name = arg.split_once('=').map_or(arg, |(name, _)| name);
    name.starts_with("--")
        && name.len() > 2
        && !HARMLESS.contains(&name)
        && options.iter().any(|option| option.starts_with(name))
}

/// In `git grep`, `-O` opens a pager and `-f` reads patterns from any file. Options may be joined;
/// after one that takes a value the rest is the value.
fn short_options_run_or_read(arg: &str) -> bool {
    let Some(joined) = arg.strip_prefix('-').filter(|rest| !rest.starts_with('-')) else {
        return false;
    };
    let options = joined.split(['e', 'A', 'B', 'C', 'm']).next();
    options.is_some_and(|options| options.contains(['O', 'f']))
}

/// `git diff` compares any two files of the machine when one lies outside the repository.
fn leads_out(arg: &str) -> bool {
    !arg.starts_with('-')
        && (arg.starts_with(['/', '~']) || arg.split('/').any(|part| part == ".."))
}

fn only_lists(subcommand: &str, rest: &[String]) -> Result<(), GitRefusal> {
    match rest.first() {
        Some(first) if !LISTING.contains(&first.as_str()) => {
            return Err(GitRefusal::OnlyLists(subcommand.to_owned()));
        }
        // Without any argument both list.
        _ => {}
    }
    // After `-a`, `-r` or `-v` a name would make a branch: only a pattern after `--list` is one.
    let names_a_pattern = rest.iter().any(|arg| arg == "--list" || arg == "-l");
    for arg in rest {
        let short = arg.strip_prefix('-').filter(|s| !s.starts_with('-'));
        let changes = matches_any(arg, CHANGING)
            || short
                .is_some_and(|s| s.contains(['d', 'D', 'm', 'M', 'c', 'C', 'f', 'u', 's', 'F']));
        if changes {
            return Err(GitRefusal::Option(arg.clone()));
        }
        if !arg.starts_with('-') && !names_a_pattern {
            return Err(GitRefusal::OnlyLists(subcommand.to_owned()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `Ok` or the kind of refusal with what it names.
    fn decide(line: &str) -> Result<(), GitRefusal> {
        let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        check(&args)
    }

    #[test]
    fn reading_commands_pass() {
        let check = |line: &str| assert_eq!(decide(line), Ok(()), "{line}");
        check("status --porcelain");
        check("log --oneline -5 --stat -- src/lib.rs");
        check("log -S needle --all --format=%H");
        check("show HEAD~1:src/lib.rs");
        check("diff HEAD~2..HEAD -- src");
        check("diff --text a b");
        check("blame -L 1,5 src/lib.rs");
        check("grep -n -i -e Offset");
        check("grep -neOffset");
        check("ls-files --others --exclude-standard");
        check("rev-parse --show-toplevel");
        check("branch");
        check("branch --list codewhale/*");
        check("branch -a -v");
        check("branch --show-current");
        check("tag --list v*");
        check("cat-file -p HEAD");
    }

    #[test]
    fn whatever_writes_is_no_reading_command() {
        let check = |line: &str| {
            let name = line.split(' ').next().unwrap_or_default().to_owned();
            assert_eq!(decide(line), Err(GitRefusal::Subcommand(name)), "{line}");
        };
        check("commit -m x");
        check("push");
        check("checkout main");
        check("config core.pager evil");
        check("-c core.pager=evil log");
        check("-C / log");
        check("--git-dir=/x log");
        check("archive HEAD");
        check("difftool");
        check("worktree add x");
    }

    #[test]
    fn options_that_write_run_or_read_outside_are_refused_also_when_shortened() {
        let check = |line: &str, option: &str| {
            assert_eq!(
                decide(line),
                Err(GitRefusal::Option(option.to_owned())),
                "{line}"
            );
        };
        check("log --output=x", "--output=x");
        check("diff --outp x", "--outp");
        check("show --ext-diff", "--ext-diff");
        check("log --ext", "--ext");
        check("log --textconv", "--textconv");
        check("log --show-sig", "--show-sig");
        check("diff --no-index a b", "--no-index");
        check("diff --no-ind a b", "--no-ind");
        check("diff /etc/passwd a", "/etc/passwd");
        check("diff -- a ../../x", "../../x");
        check("grep --no-index x", "--no-index");
        check("grep -O x", "-O");
        check("grep -niOless x", "-niOless");
        check("grep -f /etc/passwd", "-f");
        check("blame --contents /etc/passwd a", "--contents");
        check("cat-file --filters HEAD:a", "--filters");
        check("branch --list -D x", "-D");
        check("branch -v --delete x", "--delete");
        check("tag -l -d v1", "-d");
    }

    #[test]
    fn branch_and_tag_only_list() {
        let check = |line: &str, name: &str| {
            assert_eq!(
                decide(line),
                Err(GitRefusal::OnlyLists(name.to_owned())),
                "{line}"
            );
        };
        check("branch new", "branch");
        check("branch -D x", "branch");
        check("branch -v new", "branch");
        check("tag v1", "tag");
        check("tag -a v1", "tag");
        assert_eq!(decide(""), Err(GitRefusal::Nothing));
    }
}
