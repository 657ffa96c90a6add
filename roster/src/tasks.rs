//! Tasks: their names, what they wait for and who does them. Finds every fault that concerns more than
//! one value.

use crate::diagnostic::{Code, Diagnostic, quoted};
use crate::graph::Graph;
use crate::limits::budget;
use crate::near::nearest;
use crate::roles::{DEFAULT_ROLE, Role, name_today};
use crate::tree::{Fields, Spot};
use engine_core::ids::{RoleName, TaskId};
use fleet_core::spec::TaskSpec;
use std::collections::BTreeMap;

/// A task whose id is readable.
pub(crate) struct Task<'a> {
    /// Its id.
    pub(crate) id: TaskId,
    /// Its table.
    pub(crate) fields: &'a Fields,
}

impl Task<'_> {
    /// The name of its role, as written or by default.
    pub(crate) fn role(&self) -> Spot<&str> {
        self.fields.text("role").unwrap_or(Spot {
            value: DEFAULT_ROLE,
            span: self.fields.span,
        })
    }

    /// The name of the role that reviews it.
    pub(crate) fn review(&self) -> Option<Spot<&str>> {
        self.fields.text("review")
    }

    /// The task as the plan holds it. `None`: something in it was refused.
    pub(crate) fn spec(&self) -> Option<TaskSpec> {
        let fields = self.fields;
        let needs: Result<Vec<TaskId>, _> = fields
            .list("needs")
            .iter()
            .map(|need| TaskId::try_from(need.value.clone()))
            .collect();
        Some(TaskSpec {
            id: self.id.clone(),
            role: RoleName(self.role().value.to_owned()),
            prompt: fields.owned_text("prompt")?,
            needs: needs.ok()?,
            check: fields
                .list("check")
                .iter()
                .map(|command| command.value.clone())
                .collect(),
            review: self.review().map(|role| RoleName(role.value.to_owned())),
            budget: budget(fields),
            timeout_secs: fields.number("timeout").map(|spot| spot.value),
        })
    }
}

/// The tasks of a file, without those whose id is missing or refused.
pub(crate) fn read(top: &Fields) -> Vec<Task<'_>> {
    top.tables("task")
        .iter()
        .filter_map(|fields| {
            let id = TaskId::try_from(fields.owned_text("id")?).ok()?;
            Some(Task { id, fields })
        })
        .collect()
}

/// Everything that is wrong with tasks among themselves.
pub(crate) fn faults(tasks: &[Task<'_>]) -> Vec<Diagnostic> {
    let mut first: BTreeMap<&str, usize> = BTreeMap::new();
    let mut found = Vec::new();
    for (index, task) in tasks.iter().enumerate() {
        match first.get(task.id.as_str()) {
            Some(earlier) => found.push(doubled(task, &tasks[*earlier])),
            None => {
                first.insert(task.id.as_str(), index);
            }
        }
    }
    for task in tasks {
        found.extend(need_faults(task, &first));
    }
    found.extend(circle_faults(tasks, &first));
    found
}

/// The tasks in levels: each needs only tasks of earlier levels.
pub(crate) fn levels(specs: &[TaskSpec]) -> Vec<Vec<usize>> {
    let index: BTreeMap<&TaskId, usize> = specs
        .iter()
        .enumerate()
        .map(|(index, task)| (&task.id, index))
        .collect();
    let needs = specs
        .iter()
        .map(|task| {
            task.needs
                .iter()
                .filter_map(|need| index.get(need).copied())
                .collect()
        })
        .collect();
    Graph::new(needs).levels()
}

fn doubled(task: &Task<'_>, first: &Task<'_>) -> Diagnostic {
    let message = format!("two tasks have the id `{}`", task.id);
    Diagnostic::error(Code::Duplicate, task.fields.span_of("id"), message)
        .at(task.fields.path_of("id"))
        .relate(first.fields.span_of("id"), "the first one")
}

fn need_faults(task: &Task<'_>, ids: &BTreeMap<&str, usize>) -> Vec<Diagnostic> {
    let path = task.fields.path_of("needs");
    let mut found = Vec::new();
    for need in task.fields.list("needs") {
        if need.value == task.id.as_str() {
            let message = format!("task `{}` needs itself", task.id);
            found.push(Diagnostic::error(Code::Cycle, need.span, message).at(&path));
        } else if !ids.contains_key(need.value.as_str()) {
            let others = ids.keys().copied().filter(|id| *id != task.id.as_str());
            let meant = nearest(&need.value, others).map(str::to_owned);
            let message = format!("unknown task {}", quoted(&need.value));
            found.push(
                Diagnostic::error(Code::UnknownName, need.span, message)
                    .at(&path)
                    .suggest(meant),
            );
        }
    }
    found
}

fn circle_faults(tasks: &[Task<'_>], first: &BTreeMap<&str, usize>) -> Vec<Diagnostic> {
    let needs = tasks
        .iter()
        .map(|task| {
            task.fields
                .list("needs")
                .iter()
                .filter_map(|need| first.get(need.value.as_str()).copied())
                .collect()
        })
        .collect();
    Graph::new(needs)
        .circles()
        .iter()
        .map(|circle| circle_fault(tasks, circle))
        .collect()
}

fn circle_fault(tasks: &[Task<'_>], circle: &[usize]) -> Diagnostic {
    let edge = |at: usize| {
        let task = &tasks[circle[at]];
        let next = tasks[circle[(at + 1) % circle.len()]].id.as_str();
        let needs = task.fields.list("needs").iter();
        let span = needs
            .clone()
            .find(|need| need.value == next)
            .map_or(task.fields.span, |need| need.span);
        (task.id.as_str(), next, span)
    };
    let names: Vec<String> = (0..=circle.len())
        .map(|at| format!("`{}`", edge(at % circle.len()).0))
        .collect();
    let message = format!("tasks wait for each other: {}", names.join(" needs "));
    let (_, _, span) = edge(0);
    let path = tasks[circle[0]].fields.path_of("needs");
    let found = Diagnostic::error(Code::Cycle, span, message).at(path);
    (1..circle.len()).fold(found, |found, at| {
        let (task, next, span) = edge(at);
        found.relate(span, format!("`{task}` needs `{next}`"))
    })
}

/// The role that a task names, or what is wrong with the name. `None`: misspelt in a way that was
/// reported already.
pub(crate) fn find_role<'a>(
    name: Spot<&str>,
    path: &str,
    roles: &'a BTreeMap<String, Role>,
    top: &Fields,
) -> Result<Option<&'a Role>, Box<Diagnostic>> {
    if let Some(role) = roles.get(name.value) {
        return Ok(Some(role));
    }
    let is_misspelt = top
        .misspelt
        .iter()
        .any(|(family, table)| *family == "role" && table == name.value);
    if is_misspelt {
        return Ok(None);
    }
    Err(Box::new(unknown_role(name, path, roles)))
}

fn unknown_role(name: Spot<&str>, path: &str, roles: &BTreeMap<String, Role>) -> Diagnostic {
    let names = || roles.keys().map(String::as_str);
    let (message, meant) = match name_today(name.value) {
        Some(today) => (
            format!("the role {} is called `{today}`", quoted(name.value)),
            Some(today),
        ),
        None => (
            format!("unknown role {}", quoted(name.value)),
            nearest(name.value, names()),
        ),
    };
    let found = Diagnostic::error(Code::UnknownName, name.span, message)
        .at(path)
        .suggest(meant.map(str::to_owned));
    match meant {
        Some(_) => found,
        None => {
            let all: Vec<&str> = names().collect();
            found.hint(format!("there are {}", all.join(", ")))
        }
    }
}

/// Declarations under names of earlier versions.
pub(crate) fn older_role_names(top: &Fields) -> Vec<Diagnostic> {
    top.tables("role")
        .iter()
        .filter_map(|fields| {
            let today = name_today(&fields.name)?;
            let message = format!("the role `{}` is called `{today}`", fields.name);
            Some(
                Diagnostic::error(Code::UnknownName, fields.span, message)
                    .at(&fields.path)
                    .suggest(Some(today.to_owned())),
            )
        })
        .collect()
}
