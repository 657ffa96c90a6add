//! `kill -9` of the manager, anywhere: what was answered is not asked again, what was done is not
//! done twice, and the run ends with the same work as one that nothing happened to.

use crate::crew::{ANSWERS, Crew, ends_as, with_git_behind};
use crate::environment::TestEnvironment;
use crate::started::Started;
use crate::story::Tokens;
use rustix::process::Signal;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

/// What a run comes to.
#[derive(Debug, PartialEq, Eq)]
struct Fate {
    tree: String,
    ends: BTreeMap<String, String>,
    done: BTreeSet<String>,
    answered: Vec<String>,
    input: u64,
    output: u64,
}

/// What a run comes to that nothing happens to.
static UNBROKEN: LazyLock<Fate> = LazyLock::new(|| {
    let crew = Crew::new();
    ends_as(crew.start().ended(), "done", 0);
    let mut asked = crew.asked();
    asked.sort();
    assert_eq!(asked, ANSWERS);
    fate(&crew)
});

fn fate(crew: &Crew) -> Fate {
    let story = crew.story();
    let mut answered = story.answered();
    answered.sort();
    let tokens = story.tokens();
    Fate {
        tree: crew.landed_tree(),
        ends: story.ends(),
        done: story.done_once().into_iter().map(whoever_merged).collect(),
        answered,
        input: tokens.input,
        output: tokens.output,
    }
}

/// Two builders work side by side, and whoever lands second is merged and checked again: that one is
/// not named.
fn whoever_merged(done: String) -> String {
    match done.split_once(" \"merged\" ") {
        Some((_, index)) => format!("check of the merged tree {index}"),
        None => done,
    }
}

/// When a manager is killed.
#[derive(Debug, Clone, Copy)]
enum When {
    /// When the server was asked for the answer of this name and has not given it.
    Asked(&'static str),
    /// As soon as the ledger has this many lines.
    Line(usize),
    /// When a command of the fleet stands where a file in the hold lets it wait.
    Held(&'static str),
    /// When git stands there: see [`HELD_LANDING`].
    Git(&'static str),
}

/// What is killed.
#[derive(Debug, Clone, Copy)]
enum Whom {
    /// The manager.
    Manager,
    /// Its whole process group.
    Group,
}

/// What stood when a manager was killed.
struct Death {
    /// Requests that the server had got.
    asked: usize,
    /// Answers that were recorded.
    answered: BTreeSet<String>,
}

/// A run and the deaths of its managers so far.
struct Lives<'a> {
    crew: &'a Crew,
    deaths: Vec<Death>,
}

impl<'a> Lives<'a> {
    fn of(crew: &'a Crew) -> Self {
        Self {
            crew,
            deaths: Vec::new(),
        }
    }

    /// Starts or resumes the run, and kills it.
    #[track_caller]
    fn dies(&mut self, when: When, whom: Whom) {
        let crew = self.crew;
        match when {
            When::Asked(name) => crew.hold_answer(name),
            When::Held(what) | When::Git(what) => crew.hold(what),
            When::Line(_) => {}
        }
        let mut manager = self.lives();
        match when {
            When::Asked(name) => {
                let before = self.deaths.last().map_or(0, |death| death.asked);
                crew.wait_until_asked(name, before);
            }
            When::Line(line) => crew.wait_for_line(line),
            When::Held(_) | When::Git(_) => crew.wait_for_process("sleep 0.02"),
        }
        assert!(manager.is_running(), "{when:?}: it ended before");
        match whom {
            Whom::Manager => manager.signal(Signal::KILL),
            Whom::Group => manager.signal_group(Signal::KILL),
        }
        assert_eq!(manager.ended().code, None, "{when:?}");
        if !matches!(when, When::Git(_)) {
            crew.environment.is_left_by_all();
        }
        crew.give_answer();
        if let When::Held(what) | When::Git(what) = when {
            crew.let_go(what);
        }
        self.note_death();
    }

    /// Starts or resumes the run, until git is cut off together with its manager.
    #[track_caller]
    fn is_cut_off(&mut self) {
        self.crew.hold("cut");
        assert_eq!(self.lives().ended().code, None, "it was never cut off");
        self.note_death();
    }

    fn note_death(&mut self) {
        let crew = self.crew;
        self.deaths.push(Death {
            asked: crew.asked().len(),
            answered: crew.story().answered().into_iter().collect(),
        });
    }

    fn lives(&self) -> Started<'a> {
        if self.deaths.is_empty() {
            self.crew.start()
        } else {
            self.crew.resume()
        }
    }

    /// Resumes the run, which must come to the same as one that nothing happened to.
    #[track_caller]
    fn ends_as_if_unbroken(self) {
        let crew = self.crew;
        ends_as(crew.resume().ended(), "done", 0);
        crew.environment.is_left_by_all();
        assert_eq!(fate(crew), *UNBROKEN);
        assert_eq!(crew.scratch(), [""; 0]);
        let verified = crew.environment.run(&["ledger", "verify"]).exits(0);
        assert!(verified.stdout.contains("no damage"), "{verified:?}");
        self.nothing_is_asked_twice();
        self.the_books_are_right();
    }

    /// A request may be asked once more for each death while it was under way, and never once its
    /// answer was recorded.
    fn nothing_is_asked_twice(&self) {
        let asked = self.crew.asked();
        for death in &self.deaths {
            for name in &asked[death.asked..] {
                assert!(!death.answered.contains(name), "{name} was paid for twice");
            }
        }
        let lost = self.crew.story().lost();
        for name in ANSWERS {
            let count = asked.iter().filter(|asked| *asked == name).count();
            let lost = lost.get(name).copied().unwrap_or(0);
            assert!(lost <= self.deaths.len(), "{name} was lost {lost} times");
            assert!((1..=1 + lost).contains(&count), "{name}: {count} times");
        }
        assert_eq!(self.crew.server.seen().broken_rules, [""; 0]);
    }

    fn the_books_are_right(&self) {
        let tokens = self.crew.story().tokens();
        let told = &self.crew.status()["tokens"];
        let number = |name: &str| told[name].as_u64().expect("a number");
        let shown = Tokens {
            input: number("input"),
            output: number("output"),
            unreported: number("unreported"),
        };
        assert_eq!(shown, tokens);
        assert_eq!((number("reserved"), number("overrun")), (0, 0));
        let sum = tokens.input + tokens.output + tokens.unreported;
        assert_eq!(number("spent"), sum);
    }
}

#[track_caller]
fn check(whens: &[When], whom: Whom) {
    let crew = Crew::new();
    let mut lives = Lives::of(&crew);
    for when in whens {
        lives.dies(*when, whom);
    }
    lives.ends_as_if_unbroken();
}

#[test]
fn a_run_that_nothing_happens_to_asks_for_each_answer_once() {
    assert_eq!(UNBROKEN.answered, ANSWERS);
    let landed = |task: &str| UNBROKEN.ends[task].as_str();
    assert_eq!((landed("alpha"), landed("beta")), ("landed", "landed"));
    assert!(UNBROKEN.done.contains("attempt.started alpha/2"));
}

#[test]
fn killed_at_any_line_it_goes_on() {
    for line in [1, 3, 7, 12, 18, 25, 33, 40, 47, 54] {
        check(&[When::Line(line)], Whom::Manager);
    }
}

#[test]
fn killed_ten_times_over_it_goes_on_each_time() {
    let names = [
        "survey/1.1",
        "survey/1.1",
        "survey/1.2",
        "alpha/1.1",
        "alpha/1.2",
        "alpha/1.3",
        "alpha/2.1",
        "alpha/2.2",
        "alpha-review-2/1.1",
        "alpha-review-2/1.2",
    ];
    check(&names.map(When::Asked), Whom::Manager);
}

#[test]
fn killed_with_its_process_group_it_goes_on() {
    check(
        &[When::Line(9), When::Asked("beta/1.3"), When::Line(60)],
        Whom::Group,
    );
}

#[test]
fn killed_in_the_middle_of_a_command_it_repeats_nothing_that_lasts() {
    check(&[When::Held("shell"), When::Held("shell")], Whom::Manager);
    check(&[When::Held("shell")], Whom::Group);
}

#[test]
fn killed_in_the_middle_of_a_check_it_checks_again() {
    check(&[When::Held("check"), When::Held("check")], Whom::Manager);
    check(&[When::Held("check")], Whom::Group);
}

/// Waits before the integration branch is moved while `before-landing` is in the hold, and after it
/// while `after-landing` is.
const HELD_LANDING: &str = r#"
hold() { while [ -e "$HOLD/$1-landing" ]; do sleep 0.02; done; }
case "$*" in *update-ref*/integration*)
    hold before; "$GIT" "$@"; code=$?; hold after; exit $code;;
esac"#;

/// Landing is a move of a ref. The git command that makes it outlives its manager, which nobody can
/// prevent: it may move the ref at any time.
#[test]
fn killed_while_landing_it_lands_once() {
    for what in ["before-landing", "after-landing"] {
        let crew = Crew::in_environment(with_git_behind(TestEnvironment::new(), HELD_LANDING));
        let mut lives = Lives::of(&crew);
        lives.dies(When::Git(what), Whom::Manager);
        lives.dies(When::Git(what), Whom::Group);
        lives.ends_as_if_unbroken();
    }
}

/// What git leaves when it is cut off together with its manager, as when the power goes: once, while
/// `cut` is in the hold.
const CUT_OFF: &str = r#"
cut() { rm "$HOLD/cut"; kill -9 $PPID; exit 1; }
common() { "$GIT" rev-parse --path-format=absolute --git-common-dir; }
[ -e "$HOLD/cut" ] && case "$CUT $*" in
"registering "*"worktree add"*/alpha.1*)
    for word; do case "$word" in */alpha.1) path=$word;; esac; done
    admin=$(common)/worktrees/alpha.1
    mkdir -p "$admin" "$path"
    echo "$path/.git" > "$admin/gitdir"; : > "$admin/commondir"
    cut;;
"landing "*update-ref*/integration*)
    for word; do case "$word" in refs/*) ref=$word;; esac; done
    : > "$(common)/$ref.lock"
    cut;;
esac"#;

#[test]
fn cut_off_in_the_middle_of_git_it_goes_on() {
    for what in ["registering", "landing"] {
        let environment = TestEnvironment::new().with("CUT", what);
        let crew = Crew::in_environment(with_git_behind(environment, CUT_OFF));
        let mut lives = Lives::of(&crew);
        lives.is_cut_off();
        lives.ends_as_if_unbroken();
    }
}

/// Snapshots keep the work, not folders.
#[test]
fn a_run_goes_on_when_its_folders_are_gone() {
    let crew = Crew::new();
    let mut lives = Lives::of(&crew);
    let worktrees = crew
        .environment
        .path("home/.local/state/codewhale/worktrees");
    for (answer, prunes) in [("alpha/1.3", false), ("alpha/2.2", true)] {
        lives.dies(When::Asked(answer), Whom::Manager);
        std::fs::remove_dir_all(&worktrees).expect("folders");
        if prunes {
            crew.environment.git(&["worktree", "prune"]);
        }
    }
    lives.ends_as_if_unbroken();
}
