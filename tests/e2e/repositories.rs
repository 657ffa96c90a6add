//! A small fleet of a builder and a reviewer in every kind of repository: its work arrives with exact
//! bytes and nothing else changes, or it is refused with one message and nothing at all changes.

use crate::environment::{Ran, TestEnvironment};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use testkit::odd_repo::{Odd, Workshop};

const ROSTER: &str = r#"name = "odd"
model = "here/m"
[provider.here]
kind = "scripted"
script = "turns.jsonl"
[[task]]
id = "make"
role = "builder"
prompt = "Make it."
check = ["test -s made.txt"]
review = "reviewer"
"#;

/// Adds a line to every file that is no link; settings of submodules would break by it.
const ADD_A_LINE: &str = r#"git ls-files -z | xargs -0 -n 1 sh -c 'case $1 in .gitmodules) exit;; esac; if [ -f "./$1" ] && [ ! -L "./$1" ]; then printf "more\n" >> "./$1"; fi' sh"#;

/// A repository, and the fleet that is to work in it.
struct Ground {
    environment: TestEnvironment,
    /// Where a person would stand.
    folder: PathBuf,
    /// The folder around the repository and what belongs to it.
    around: PathBuf,
}

impl Ground {
    fn of(kind: Odd) -> Self {
        Self::below(kind, "repos")
    }

    /// The repository lies in a folder of this name.
    fn below(kind: Odd, name: impl AsRef<OsStr>) -> Self {
        let environment = TestEnvironment::new().with_identity();
        let around = environment.path("").join(name.as_ref());
        std::fs::create_dir(&around).expect("a folder");
        let folder = Workshop::in_folder(&around).make(kind);
        let ground = Self {
            environment,
            folder,
            around,
        };
        ground.environment.write("roster.toml", ROSTER);
        let turn = |task: &str, turn: u32, rest: serde_json::Value| {
            let mut line = serde_json::json!({"task": task, "turn": turn});
            let fields = rest.as_object().expect("fields").clone();
            line.as_object_mut().expect("an object").extend(fields);
            format!("{line}\n")
        };
        let call = |name: &str, arguments: serde_json::Value| serde_json::json!({"calls": [{"name": name, "arguments": arguments}]});
        let write = serde_json::json!({"path": "made.txt", "content": "made\n"});
        let shell = serde_json::json!({"command": ADD_A_LINE});
        let verdict = serde_json::json!({"verdict": "approve", "findings": "made.txt:1 is right."});
        let turns = [
            turn("make", 1, call("write", write)),
            turn("make", 2, call("shell", shell)),
            turn("make", 3, serde_json::json!({"text": "Made it."})),
            turn("make-review-1", 1, call("verdict", verdict)),
        ];
        ground.environment.write("turns.jsonl", &turns.concat());
        ground
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.environment.command(arguments);
        command.current_dir(&self.folder);
        command
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        let output = self.command(arguments).output().expect("the binary starts");
        self.environment.ran(&output)
    }

    fn fleet(&self) -> Ran {
        let roster = self.environment.path("roster.toml").display().to_string();
        self.run(&["fleet", "run", &roster])
    }

    /// What plain git prints, as bytes.
    #[track_caller]
    fn git(&self, arguments: &[&str]) -> Vec<u8> {
        let output = Command::new("git")
            .args(arguments)
            .current_dir(&self.folder)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .output()
            .expect("git starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {arguments:?}: {said}");
        output.stdout
    }

    fn word(&self, arguments: &[&str]) -> String {
        let text = String::from_utf8(self.git(arguments)).expect("text");
        text.trim_end().to_owned()
    }

    /// Every file of the repository and around it with its content, but for what is the fleet's own.
    fn everything(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut found = BTreeMap::new();
        collect(&self.around, &self.around, &mut found);
        found
    }

    /// What the fleet keeps outside of the repository: folders of worktrees.
    fn worktrees(&self) -> Vec<PathBuf> {
        let mut found = BTreeMap::new();
        let state = self.environment.path("home/.local/state/codewhale");
        collect(&state, &state, &mut found);
        found.into_keys().collect()
    }
}

/// Parts of a git folder that are the fleet's, or that every commit adds to.
const OWN: [&str; 5] = [
    "/objects/",
    "/codewhale/",
    "/refs/heads/codewhale",
    "/logs/refs/heads/codewhale",
    "/refs/codewhale",
];

fn collect(top: &Path, folder: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten() {
        let path = entry.expect("an entry").path();
        let below = path.strip_prefix(top).expect("it lies below").to_owned();
        let shown = format!("/{}", below.display());
        if OWN.iter().any(|own| shown.contains(own)) {
            continue;
        }
        let kind = path.symlink_metadata().expect("it is there").file_type();
        if kind.is_symlink() {
            let target = std::fs::read_link(&path).expect("a link");
            found.insert(below, target.as_os_str().as_bytes().to_vec());
        } else if kind.is_dir() {
            collect(top, &path, found);
        } else {
            found.insert(below, std::fs::read(&path).expect("a file"));
        }
    }
}

/// The fleet does its work, and nothing of the person's has changed.
#[track_caller]
fn works(ground: &Ground) {
    let before = ground.everything();
    let base = ground.word(&["rev-parse", "HEAD"]);
    let ran = ground.fleet();
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    assert!(ran.stdout.contains("1 landed"), "{ran:#?}");
    let format = "--format=%(refname)";
    let branch = ground.word(&["for-each-ref", format, "refs/heads/codewhale/*/integration"]);
    arrived_exactly(ground, &base, &branch);
    let after = ground.everything();
    for (path, content) in &after {
        assert_eq!(
            before.get(path),
            Some(content),
            "{path:?} is other than before"
        );
    }
    assert_eq!(before.len(), after.len(), "something is gone");
    assert_eq!(ground.worktrees(), Vec::<PathBuf>::new());
}

/// The branch holds one new file, and one more line in each other; nothing else is different.
#[track_caller]
fn arrived_exactly(ground: &Ground, base: &str, branch: &str) {
    let raw = ground.git(&["diff-tree", "-r", "-z", "--no-renames", base, branch]);
    let mut fields = raw.split(|byte| *byte == 0).filter(|f| !f.is_empty());
    let mut changed = 0;
    while let (Some(how), Some(name)) = (fields.next(), fields.next()) {
        let how = String::from_utf8(how.to_vec()).expect("text");
        let how: Vec<&str> = how.trim_start_matches(':').split(' ').collect();
        let [old_mode, new_mode, old, new, kind] = how[..] else {
            panic!("{how:?}");
        };
        let content = ground.git(&["cat-file", "blob", new]);
        let shown = name.escape_ascii();
        if kind == "A" {
            assert_eq!((name, &content[..]), (&b"made.txt"[..], &b"made\n"[..]));
            continue;
        }
        assert_eq!((kind, old_mode), ("M", new_mode), "{shown}");
        let mut wanted = ground.git(&["cat-file", "blob", old]);
        wanted.extend_from_slice(b"more\n");
        assert_eq!(content, wanted, "{shown}");
        changed += 1;
    }
    let listed = ground.git(&["ls-tree", "-r", "-z", base]);
    let files = listed.split(|byte| *byte == 0).filter(|line| {
        (line.starts_with(b"100644") || line.starts_with(b"100755"))
            && !line.ends_with(b"\t.gitmodules")
    });
    assert_eq!(changed, files.count(), "files were left out");
}

/// The fleet refuses to work with this exit code, saying this, and nothing is left behind.
#[track_caller]
fn refuses(ground: &Ground, exit: i32, said: &str) {
    let before = ground.everything();
    let ran = ground.fleet().exits(exit);
    assert!(ran.stderr.contains(said), "{ran:#?}");
    assert!(!ran.stderr.contains("panicked"), "{ran:#?}");
    assert_eq!(ground.everything(), before);
    assert_eq!(ground.worktrees(), Vec::<PathBuf>::new());
    let below = ["codewhale", ".git/codewhale"].map(|name| ground.folder.join(name));
    assert!(below.iter().all(|folder| !folder.exists()), "{below:?}");
}

#[test]
fn odd_names_and_contents_arrive_as_they_are() {
    works(&Ground::of(Odd::Names));
}

#[test]
fn what_a_person_is_in_the_middle_of_stays_as_it_is() {
    for kind in [Odd::Merging, Odd::Rebasing, Odd::LockedIndex, Odd::Dirty] {
        works(&Ground::of(kind));
    }
}

#[test]
fn it_does_not_matter_where_head_and_the_objects_are() {
    for kind in [
        Odd::Detached,
        Odd::Shallow,
        Odd::LinkedWorktree,
        Odd::Alternates,
    ] {
        works(&Ground::of(kind));
    }
}

#[test]
fn submodules_and_files_that_are_only_partly_there_are_no_hindrance() {
    for kind in [Odd::Submodules, Odd::LargeFilePointer, Odd::Sparse] {
        works(&Ground::of(kind));
    }
}

#[test]
fn hooks_are_not_run_and_many_branches_do_no_harm() {
    for kind in [Odd::FailingHooks, Odd::ManyBranches] {
        works(&Ground::of(kind));
    }
}

#[test]
fn a_repository_may_lie_below_a_folder_of_any_name() {
    for name in ["two words", "line\nfeed", "-dash ünïcödé \"quoted\""] {
        works(&Ground::below(Odd::Names, name));
    }
    let ground = Ground::below(Odd::Names, OsStr::from_bytes(b"bad\xffutf8"));
    refuses(&ground, 2, "is not a path of valid UTF-8");
}

#[test]
fn what_cannot_be_worked_in_is_refused_and_nothing_is_left() {
    for (kind, said) in [
        (Odd::Unborn, "has no commit yet on `main`"),
        (Odd::Bare, "is a bare repository; run this in a checkout"),
        (Odd::Sha256, "uses SHA-256 object names"),
        (Odd::Reftable, "uses the reftable format"),
    ] {
        refuses(&Ground::of(kind), 2, said);
    }
}
