//! From checked tables to the plan of a run: which role does what with which model of which provider.
//! Finds every fault that lies between tables.

use crate::diagnostic::{Code, Diagnostic};
use crate::limits::{LimitWords, budget};
use crate::providers::{self, Found, Providers};
use crate::role_rules;
use crate::roles::{self, REVIEWER, Role, Verdict};
use crate::said::Said;
use crate::source::Span;
use crate::surroundings::Surroundings;
use crate::tasks::{self, Task};
use crate::tree::{Fields, Health, Spot};
use engine_core::ids::{ModelName, RoleName};
use fleet_core::spec::{Limits, ProviderSpec, RoleSpec, RunSpec, Site, TaskSpec, WorkspaceSpec};
use std::collections::{BTreeMap, BTreeSet};

/// Name of a run whose roster gives none.
const DEFAULT_NAME: &str = "fleet";

/// The plan that the tables order. `None`: something was refused, and `found` says what.
pub(crate) fn resolve(
    top: &Fields,
    around: &Surroundings<'_>,
    found: &mut Vec<Diagnostic>,
) -> Option<RunSpec> {
    let user = around.user_config;
    let limits = LimitWords::read(top).over(user.map(|config| config.limits).unwrap_or_default());
    let declared = providers::read_tables(top, found);
    let providers = Providers::new(top, declared, around);
    found.extend(providers.hiding(top));
    found.extend(tasks::older_role_names(top));
    let roles = roles::merged(top, user.map(|config| &config.roles));
    let tasks = tasks::read(top);
    found.extend(tasks::faults(&tasks));
    let uses = uses(top, &tasks, &roles, found);
    found.extend(role_rules::faults(&roles, &uses, around));
    found.extend(role_rules::review_faults(&tasks, &roles));
    let models = Models {
        top,
        user_model: user.and_then(|config| config.model.clone()),
        providers: &providers,
    };
    models.check_written(top, found);
    let staff = models.staff(&roles, &uses, found);
    assemble(top, limits, &tasks, staff)
}

/// Which roles the tasks use, with the first place that names each.
fn uses(
    top: &Fields,
    tasks: &[Task<'_>],
    roles: &BTreeMap<String, Role>,
    found: &mut Vec<Diagnostic>,
) -> BTreeMap<String, Use> {
    let mut uses: BTreeMap<String, Use> = BTreeMap::new();
    for task in tasks {
        let named = [("role", Some(task.role())), ("review", task.review())];
        for (key, name) in named {
            let Some(name) = name else { continue };
            match tasks::find_role(name, &task.fields.path_of(key), roles, top) {
                Ok(Some(role)) => {
                    let entry = uses.entry(role.name.clone()).or_insert(Use {
                        span: name.span,
                        verdict: Verdict::GivesNone,
                    });
                    if key == "review" || role.name == REVIEWER {
                        entry.verdict = Verdict::Gives;
                    }
                }
                Ok(None) => {}
                Err(unknown) => found.push(*unknown),
            }
        }
    }
    uses
}

/// How a role is used.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Use {
    /// The first place that names it.
    pub(crate) span: Span,
    /// Whether it must give verdicts.
    pub(crate) verdict: Verdict,
}

/// Roles and providers that the run needs.
#[derive(Default)]
struct Staff {
    roles: BTreeMap<RoleName, RoleSpec>,
    providers: BTreeMap<String, ProviderSpec>,
}

/// Finds the model of every role.
struct Models<'a> {
    top: &'a Fields,
    user_model: Option<ModelName>,
    providers: &'a Providers<'a>,
}

impl Models<'_> {
    /// Reports every model of this file whose provider does not exist, used or not.
    fn check_written(&self, top: &Fields, found: &mut Vec<Diagnostic>) {
        let tables = std::iter::once(top).chain(top.tables("role"));
        for fields in tables {
            if let Some(model) = fields.model("model")
                && let Err(fault) = self.providers.find(&model.value)
            {
                found.push(fault.found(&fields.path_of("model"), model.span));
            }
        }
    }

    fn staff(
        &self,
        roles: &BTreeMap<String, Role>,
        uses: &BTreeMap<String, Use>,
        found: &mut Vec<Diagnostic>,
    ) -> Option<Staff> {
        let mut staff = Some(Staff::default());
        let mut without: Vec<(&str, Span)> = Vec::new();
        for (name, used) in uses {
            let role = roles.get(name)?;
            let Some(model) = self.model_of(role) else {
                staff = None;
                if role.health == Health::Sound && self.top.health == Health::Sound {
                    without.push((name, role.declared.unwrap_or(used.span)));
                }
                continue;
            };
            match self.providers.find(&model.value) {
                Ok(Found::Provider(model, spec)) => {
                    if let Some(staff) = &mut staff {
                        staff.providers.insert(model.provider.clone(), spec);
                        let spec = role.spec(model, used.verdict);
                        staff.roles.insert(role.role_name(), spec);
                    }
                }
                Ok(Found::Unreadable) => staff = None,
                Err(fault) => {
                    staff = None;
                    // A model of this file was reported where it is written.
                    if model.span.is_none() {
                        let path = format!("role.{name}.model");
                        found.push(fault.found(&path, used.span));
                    }
                }
            }
        }
        found.extend(no_model(&without));
        staff
    }

    /// The role's own model, else that of the file's top, else the user's.
    fn model_of(&self, role: &Role) -> Option<Said<ModelName>> {
        role.words
            .model
            .clone()
            .or_else(|| self.top.model("model").map(Said::from))
            .or_else(|| self.user_model.clone().map(Said::elsewhere))
    }
}

fn no_model(roles: &[(&str, Span)]) -> Option<Diagnostic> {
    let (_, span) = roles.first()?;
    let names: Vec<String> = roles.iter().map(|(name, _)| format!("`{name}`")).collect();
    let noun = if names.len() == 1 { "role" } else { "roles" };
    let message = format!("there is no model for the {noun} {}", names.join(", "));
    Some(
        Diagnostic::error(Code::Missing, *span, message)
            .at("model")
            .hint(
                "write model = \"provider/model\" at the top of the file, or in the role's table",
            ),
    )
}

fn assemble(
    top: &Fields,
    limits: Limits,
    tasks: &[Task<'_>],
    staff: Option<Staff>,
) -> Option<RunSpec> {
    let tasks: Option<Vec<TaskSpec>> = tasks.iter().map(Task::spec).collect();
    let staff = staff?;
    Some(RunSpec {
        name: top
            .owned_text("name")
            .unwrap_or_else(|| DEFAULT_NAME.to_owned()),
        goal: top.owned_text("goal"),
        base: top.owned_text("base"),
        limits,
        budget: budget(top),
        workspace: top.table("workspace").map(workspace).unwrap_or_default(),
        providers: staff.providers,
        roles: staff.roles,
        tasks: tasks?,
    })
}

fn workspace(fields: &Fields) -> WorkspaceSpec {
    let list = |key: &str| {
        let items = fields.list(key).iter();
        items.map(|item| item.value.clone()).collect()
    };
    WorkspaceSpec {
        site: Site::Worktrees,
        copy: list("copy"),
        pass_env: list("pass_env"),
        demo: fields.owned_text("demo"),
    }
}

/// What reads as a mistake in a file without errors.
pub(crate) fn warnings(top: &Fields, spec: &RunSpec) -> Vec<Diagnostic> {
    let mut found = unused_roles(top, spec);
    found.extend(passed_keys(top, spec));
    for task in top.tables("task") {
        if let Some(timeout) = task.number("timeout")
            && timeout.value > spec.limits.wall_secs
        {
            found.push(beyond(task, "timeout", "the run's `wall`"));
        }
        if let (Some(own), Some(run)) = (budget(task).tokens, spec.budget.tokens)
            && own > run
        {
            found.push(beyond(task, "budget", "the run's budget"));
        }
    }
    for role in top.tables("role") {
        if let Some(agents) = role.number("agents")
            && agents.value > u64::from(spec.limits.agents)
        {
            found.push(beyond(role, "agents", "the run's limit of agents"));
        }
    }
    found
}

fn beyond(fields: &Fields, key: &str, what: &str) -> Diagnostic {
    let message = format!("`{key}` is more than {what}, so it changes nothing");
    Diagnostic::warning(Code::Suspicious, fields.span_of(key), message).at(fields.path_of(key))
}

fn unused_roles(top: &Fields, spec: &RunSpec) -> Vec<Diagnostic> {
    let used: BTreeSet<&str> = spec.roles.keys().map(|name| name.0.as_str()).collect();
    top.tables("role")
        .iter()
        .filter(|fields| !used.contains(fields.name.as_str()))
        .map(|fields| {
            let message = format!("no task uses the role `{}`", fields.name);
            Diagnostic::warning(Code::Suspicious, fields.span, message).at(&fields.path)
        })
        .collect()
}

/// Variables that commands cannot be handed, because they hold a provider's key.
fn passed_keys(top: &Fields, spec: &RunSpec) -> Vec<Diagnostic> {
    let Some(workspace) = top.table("workspace") else {
        return Vec::new();
    };
    let holds_key = |item: &&Spot<String>| {
        spec.providers
            .values()
            .any(|provider| provider.key_env() == Some(item.value.as_str()))
    };
    let passed = workspace.list("pass_env").iter();
    passed
        .filter(holds_key)
        .map(|item| {
            let message = format!(
                "`{}` holds the key of a provider, which no command gets to see",
                item.value
            );
            Diagnostic::error(Code::Conflict, item.span, message).at(workspace.path_of("pass_env"))
        })
        .collect()
}
