//! Rosters and what their models answer, and the same work done by hand. Only makes texts.

use std::fmt::Write as _;

/// A roster and the turns of its scripted model.
pub(crate) struct Order {
    pub(crate) roster: String,
    pub(crate) turns: String,
}

/// Tasks that each read one file and then finish.
pub(crate) struct Readers {
    pub(crate) tasks: usize,
    pub(crate) agents: usize,
}

/// Tasks that each write one file, which is checked and landed.
pub(crate) struct Builders {
    pub(crate) tasks: usize,
    pub(crate) agents: usize,
}

const SCRIPT: &str = "[provider.here]\nkind = \"scripted\"\nscript = \"turns.jsonl\"\n";

/// A provider `here` at this address.
pub(crate) fn http_provider(base_url: &str) -> String {
    format!("[provider.here]\nkind = \"openai\"\nbase_url = \"{base_url}\"\n")
}

impl Readers {
    pub(crate) fn scripted(&self) -> Order {
        self.scripted_after(0)
    }

    /// Each answer takes this long.
    pub(crate) fn scripted_after(&self, millis: u32) -> Order {
        let mut turns = String::new();
        for task in 0..self.tasks {
            let call = format!(
                r#"{{"name":"read","arguments":{{"path":"src/{}.txt"}}}}"#,
                task % 500
            );
            let first = format!(r#""turn":1,"delay_ms":{millis},"calls":[{call}]"#);
            turn(&mut turns, task, &first);
            let last = format!(r#""turn":2,"delay_ms":{millis},"text":"It holds words.""#);
            turn(&mut turns, task, &last);
        }
        Order {
            roster: self.roster(SCRIPT),
            turns,
        }
    }

    pub(crate) fn over_http(&self, base_url: &str) -> Order {
        Order {
            roster: self.roster(&http_provider(base_url)),
            turns: String::new(),
        }
    }

    fn roster(&self, provider: &str) -> String {
        let mut roster = head(self.agents, provider);
        for task in 0..self.tasks {
            let _ = writeln!(
                roster,
                "[[task]]\nid = \"t{task}\"\nrole = \"scout\"\nprompt = \"Say what is in src/{task}.txt.\""
            );
        }
        roster
    }
}

impl Builders {
    pub(crate) fn scripted(&self) -> Order {
        let mut roster = head(self.agents, SCRIPT);
        let mut turns = String::new();
        for task in 0..self.tasks {
            let _ = writeln!(
                roster,
                "[[task]]\nid = \"t{task}\"\nrole = \"builder\"\nprompt = \"Make made/{task}.txt.\"\ncheck = [\"true\"]"
            );
            let arguments = format!(r#"{{"path":"made/{task}.txt","content":"made\n"}}"#);
            let call = format!(r#"{{"name":"write","arguments":{arguments}}}"#);
            turn(&mut turns, task, &format!(r#""turn":1,"calls":[{call}]"#));
            turn(&mut turns, task, r#""turn":2,"text":"Made it.""#);
        }
        Order { roster, turns }
    }

    /// What git has to do for it at least, as a careful person would: a worktree and a commit each,
    /// side by side; then, one after the other, a clean checkout for the check, a merge, and again a
    /// clean checkout for the check.
    pub(crate) fn by_hand(&self) -> String {
        let last = self.tasks - 1;
        format!(
            r#"
git() {{ command git -c core.fsync=all -c gc.auto=0 -c core.hooksPath=/dev/null "$@"; }}
for n in $(seq 0 {last}); do git worktree add -q --no-checkout -b "hand/$n" "$TMPDIR/hand/$n" HEAD; done
for n in $(seq 0 {last}); do (
  cd "$TMPDIR/hand/$n"; git reset -q --hard; mkdir made; echo made > "made/$n.txt"
  git add -A; git commit -q -m "Make $n"
) & done
wait
git worktree add -q -b hand/integration "$TMPDIR/hand/merge" HEAD
git worktree add -q --detach "$TMPDIR/hand/check" HEAD
for n in $(seq 0 {last}); do
  git -C "$TMPDIR/hand/check" checkout -q --detach "hand/$n"; true
  git -C "$TMPDIR/hand/merge" merge -q -m "Merge $n" "hand/$n"
  git -C "$TMPDIR/hand/check" checkout -q --detach hand/integration; true
  git worktree remove --force "$TMPDIR/hand/$n"
done
"#
        )
    }

    /// The same with worktrees that are used again, one for each agent: the next task begins in one
    /// where the last one has landed.
    pub(crate) fn by_hand_pooled(&self) -> String {
        let (lanes, last) = (self.agents - 1, self.tasks - 1);
        format!(
            r#"
git() {{ command git -c core.fsync=all -c gc.auto=0 -c core.hooksPath=/dev/null "$@"; }}
H="$TMPDIR/hand"
git worktree add -q -b hand/integration "$H/merge" HEAD
git worktree add -q --detach "$H/check" HEAD
for lane in $(seq 0 {lanes}); do git worktree add -q --detach "$H/$lane" HEAD; done
for lane in $(seq 0 {lanes}); do (
  cd "$H/$lane"
  for n in $(seq "$lane" {agents} {last}); do
    git checkout -q -b "hand/$n" hand/integration; mkdir -p made; echo made > "made/$n.txt"
    git add -A; git commit -q -m "Make $n"
    ( flock 9
      git -C "$H/check" checkout -q --detach "hand/$n"; true
      git -C "$H/merge" merge -q -m "Merge $n" "hand/$n"
      git -C "$H/check" checkout -q --detach hand/integration; true
    ) 9>"$H/lock"
    git status --porcelain --ignored; git checkout -q --detach; git branch -q -D "hand/$n"; git clean -ffdxq
  done
) & done
wait
for folder in merge check $(seq 0 {lanes}); do git worktree remove --force "$H/$folder"; done
"#,
            agents = self.agents
        )
    }
}

fn head(agents: usize, provider: &str) -> String {
    format!("name = \"bench\"\nmodel = \"here/m\"\n[limits]\nagents = {agents}\n{provider}")
}

fn turn(turns: &mut String, task: usize, rest: &str) {
    let usage = r#""usage":{"input":900,"output":20}"#;
    let _ = writeln!(turns, r#"{{"task":"t{task}",{rest},{usage}}}"#);
}
