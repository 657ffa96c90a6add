//! What a run would do, for a person to read before it starts: `codewhale fleet check`. Never says that
//! anything was done.

use crate::load::host_of;
use crate::role_rules::word;
use crate::surroundings::Surroundings;
use crate::tasks::levels;
use crate::value::shown_duration;
use fleet_core::spec::{Budget, Limits, ProviderSpec, RunSpec, TaskSpec};
use serde::Serialize;
use std::fmt;

/// What a run would do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Plan {
    /// Name of the run.
    pub name: String,
    /// Revision it would start from; `None`: HEAD of the checkout.
    pub base: Option<String>,
    /// Folder that a demonstration repository would be made from.
    pub demo: Option<String>,
    /// Its limits.
    pub limits: Limits,
    /// Its caps.
    pub budget: Budget,
    /// Where models would be asked, by provider id.
    pub providers: Vec<PlannedProvider>,
    /// The tasks in levels: those of one level may run side by side.
    pub levels: Vec<Vec<PlannedTask>>,
}

/// Where a key would go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlannedProvider {
    /// Its id.
    pub id: String,
    /// Host and port that are asked; `None`: nobody is asked, a file is played back.
    pub host: Option<String>,
    /// The variable that holds the key; `None`: no key is sent.
    pub key_env: Option<String>,
    /// Whether that variable is set now.
    pub key: KeyState,
}

/// Whether a key is at hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum KeyState {
    /// None is needed.
    NotNeeded,
    /// Its variable is set.
    Set,
    /// Its variable is unset or empty.
    Unset,
}

/// One task of the plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlannedTask {
    /// Its id.
    pub id: String,
    /// Who does it.
    pub role: String,
    /// With which model.
    pub model: String,
    /// With which access: `read`, `write`, or `write+network`.
    pub access: String,
    /// What it waits for.
    pub needs: Vec<String>,
    /// What the fleet runs on its result.
    pub check: Vec<String>,
    /// Who reviews it.
    pub review: Option<String>,
    /// Its own cap in tokens.
    pub tokens: Option<u64>,
    /// Time of one attempt, in seconds.
    pub timeout_secs: Option<u64>,
}

impl Plan {
    /// The plan of a run, with the keys as they are set now.
    pub(crate) fn new(spec: &RunSpec, around: &Surroundings<'_>) -> Self {
        let is_set = |name: &str| (around.env)(name).is_some_and(|value| !value.is_empty());
        Self {
            name: spec.name.clone(),
            base: spec.base.clone(),
            demo: spec.workspace.demo.clone(),
            limits: spec.limits.clone(),
            budget: spec.budget,
            providers: spec
                .providers
                .iter()
                .map(|(id, provider)| planned_provider(id, provider, &is_set))
                .collect(),
            levels: levels(&spec.tasks)
                .iter()
                .map(|level| {
                    let tasks = level.iter().map(|index| &spec.tasks[*index]);
                    tasks.map(|task| planned_task(task, spec)).collect()
                })
                .collect(),
        }
    }
}

fn planned_provider(
    id: &str,
    provider: &ProviderSpec,
    is_set: &dyn Fn(&str) -> bool,
) -> PlannedProvider {
    let key_env = provider.key_env().map(str::to_owned);
    let key = match &key_env {
        None => KeyState::NotNeeded,
        Some(name) if is_set(name) => KeyState::Set,
        Some(_) => KeyState::Unset,
    };
    PlannedProvider {
        id: id.to_owned(),
        host: host_of(provider).map(str::to_owned),
        key_env,
        key,
    }
}

fn planned_task(task: &TaskSpec, spec: &RunSpec) -> PlannedTask {
    let role = spec.roles.get(&task.role);
    let access = role.map_or(String::new(), |role| {
        let network = if role.network { "+network" } else { "" };
        format!("{}{network}", word(role.access))
    });
    PlannedTask {
        id: task.id.to_string(),
        role: task.role.to_string(),
        model: role.map_or(String::new(), |role| role.model.to_string()),
        access,
        needs: task.needs.iter().map(ToString::to_string).collect(),
        check: task.check.clone(),
        review: task.review.as_ref().map(ToString::to_string),
        tokens: task.budget.tokens.map(|tokens| tokens.0),
        timeout_secs: task.timeout_secs,
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let from = match (&self.demo, &self.base) {
            (Some(demo), _) => format!("a fresh repository made from {}", one_line(demo)),
            (None, Some(base)) => base.clone(),
            (None, None) => "HEAD".to_owned(),
        };
        writeln!(f, "run     {} from {from}", self.name)?;
        writeln!(
            f,
            "limits  {} agents, {} attempts a task, {} steps an attempt, {} in all",
            self.limits.agents,
            self.limits.attempts,
            self.limits.steps,
            shown_duration(self.limits.wall_secs)
        )?;
        match self.budget.tokens {
            Some(tokens) => writeln!(f, "budget  {} tokens", grouped(tokens.0))?,
            None => writeln!(f, "budget  no cap")?,
        }
        for (index, provider) in self.providers.iter().enumerate() {
            let title = if index == 0 { "asks" } else { "" };
            writeln!(f, "{title:<7} {provider}")?;
        }
        for (index, level) in self.levels.iter().enumerate() {
            writeln!(f, "\nlevel {}", index + 1)?;
            for task in level {
                write!(f, "{task}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for PlannedProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(host) = &self.host else {
            return write!(f, "{}: nobody, plays back a file", self.id);
        };
        match (&self.key_env, self.key) {
            (Some(name), KeyState::Unset) => {
                write!(f, "{}: {host} with the key in {name} (not set)", self.id)
            }
            (Some(name), _) => write!(f, "{}: {host} with the key in {name}", self.id),
            (None, _) => write!(f, "{}: {host} without a key", self.id),
        }
    }
}

impl fmt::Display for PlannedTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "  {}: {} ({}) asks {}",
            self.id, self.role, self.access, self.model
        )?;
        if !self.needs.is_empty() {
            writeln!(f, "    needs   {}", self.needs.join(", "))?;
        }
        for command in &self.check {
            writeln!(f, "    check   {}", one_line(command))?;
        }
        if let Some(review) = &self.review {
            writeln!(f, "    review  {review}")?;
        }
        if let Some(tokens) = self.tokens {
            writeln!(f, "    budget  {} tokens", grouped(tokens))?;
        }
        if let Some(seconds) = self.timeout_secs {
            writeln!(f, "    timeout {} an attempt", shown_duration(seconds))?;
        }
        Ok(())
    }
}

/// The first line of a text, without control characters; `…` stands for the others.
fn one_line(text: &str) -> String {
    let mut lines = text.trim().lines();
    let first = lines.next().unwrap_or_default();
    let shown = first.replace(char::is_control, "\u{fffd}");
    match lines.next() {
        Some(_) => format!("{shown} …"),
        None => shown,
    }
}

/// A number with commas between groups of three digits.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_by_three_digits() {
        for (number, expected) in [
            (0, "0"),
            (999, "999"),
            (1_000, "1,000"),
            (2_000_000, "2,000,000"),
        ] {
            assert_eq!(grouped(number), expected);
        }
    }

    #[test]
    fn a_command_is_shown_on_one_line_and_cannot_move_the_cursor() {
        assert_eq!(one_line("cargo test"), "cargo test");
        assert_eq!(one_line("set -e\ncargo test\n"), "set -e …");
        assert_eq!(one_line("echo \u{1b}[2J"), "echo \u{fffd}[2J");
        assert_eq!(one_line(""), "");
    }
}
