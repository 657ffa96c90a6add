//! Roles: the built-in ones, what files say about them, and what holds in the end.

use crate::limits::small;
use crate::said::Said;
use crate::source::Span;
use crate::tree::{Fields, Health, Spot};
use engine_core::ids::{ModelName, RoleName};
use engine_core::request::Effort;
use engine_core::tool::Access;
use fleet_core::spec::RoleSpec;
use std::collections::BTreeMap;

/// The role of a task that names none.
pub(crate) const DEFAULT_ROLE: &str = "worker";

/// A role that exists without being declared.
#[derive(Debug, Clone, Copy)]
pub struct BuiltInRole {
    /// Its name.
    pub name: &'static str,
    /// What it may do to its workspace.
    pub access: Access,
    /// What it is for, in a few words.
    pub purpose: &'static str,
}

/// The roles that exist without being declared.
pub static BUILT_IN_ROLES: &[BuiltInRole] = &[
    BuiltInRole {
        name: "scout",
        access: Access::Read,
        purpose: "finds out and reports",
    },
    BuiltInRole {
        name: "builder",
        access: Access::Write,
        purpose: "changes the code",
    },
    BuiltInRole {
        name: "reviewer",
        access: Access::Read,
        purpose: "gives a verdict on a result",
    },
    BuiltInRole {
        name: "planner",
        access: Access::Read,
        purpose: "breaks a goal into steps",
    },
    BuiltInRole {
        name: "verifier",
        access: Access::Read,
        purpose: "compares a result with its goal",
    },
    BuiltInRole {
        name: "consultant",
        access: Access::Read,
        purpose: "answers a hard question",
    },
    BuiltInRole {
        name: "worker",
        access: Access::Write,
        purpose: "does what no other role is for",
    },
];

/// Role that gives verdicts without being named in a `review`.
pub(crate) const REVIEWER: &str = "reviewer";

/// Names that earlier versions used. Models may still say them; a roster may not.
static OLDER_NAMES: &[(&str, &str)] = &[
    ("explore", "scout"),
    ("explorer", "scout"),
    ("plan", "planner"),
    ("review", "reviewer"),
    ("implement", "builder"),
    ("implementer", "builder"),
    ("verify", "verifier"),
    ("oracle", "consultant"),
    ("general", "worker"),
];

/// Today's name of a role that is called by an older one.
pub(crate) fn name_today(older: &str) -> Option<&'static str> {
    OLDER_NAMES
        .iter()
        .find(|(name, _)| *name == older)
        .map(|(_, today)| *today)
}

/// What files say about one role.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RoleWords {
    pub(crate) model: Option<Said<ModelName>>,
    pub(crate) access: Option<Said<Access>>,
    pub(crate) network: Option<Said<bool>>,
    pub(crate) tools: Option<Vec<Said<String>>>,
    pub(crate) instructions: Option<String>,
    pub(crate) agents: Option<Said<u32>>,
    pub(crate) effort: Option<Effort>,
}

impl RoleWords {
    fn read(fields: &Fields) -> Self {
        Self {
            model: fields.model("model").map(Said::from),
            access: fields.text("access").map(|spot| {
                Said::from(Spot {
                    value: access_of(spot.value),
                    span: spot.span,
                })
            }),
            network: fields.flag("network").map(Said::from),
            tools: fields.has("tools").then(|| {
                fields
                    .list("tools")
                    .iter()
                    .cloned()
                    .map(Said::from)
                    .collect()
            }),
            instructions: fields.owned_text("instructions"),
            agents: small(fields, "agents").map(|value| {
                Said::from(Spot {
                    value,
                    span: fields.span_of("agents"),
                })
            }),
            effort: fields.text("effort").map(|spot| effort_of(spot.value)),
        }
    }

    /// These words where there are any, else those of `base`.
    fn over(self, base: Self) -> Self {
        Self {
            model: self.model.or(base.model),
            access: self.access.or(base.access),
            network: self.network.or(base.network),
            tools: self.tools.or(base.tools),
            instructions: self.instructions.or(base.instructions),
            agents: self.agents.or(base.agents),
            effort: self.effort.or(base.effort),
        }
    }

    /// The same words, as another file sees them.
    pub(crate) fn seen_from_elsewhere(mut self) -> Self {
        self.model = self.model.map(|said| Said::elsewhere(said.value));
        self.access = self.access.map(|said| Said::elsewhere(said.value));
        self.network = self.network.map(|said| Said::elsewhere(said.value));
        self.agents = self.agents.map(|said| Said::elsewhere(said.value));
        self.tools = self.tools.map(|tools| {
            tools
                .into_iter()
                .map(|said| Said::elsewhere(said.value))
                .collect()
        });
        self
    }
}

fn access_of(word: &str) -> Access {
    match word {
        "write" => Access::Write,
        _ => Access::Read,
    }
}

fn effort_of(word: &str) -> Effort {
    match word {
        "low" => Effort::Low,
        "high" => Effort::High,
        _ => Effort::Medium,
    }
}

/// A role with everything that is known about it.
#[derive(Debug, Clone)]
pub(crate) struct Role {
    /// What it is called.
    pub(crate) name: String,
    /// What holds for it.
    pub(crate) words: RoleWords,
    /// Where the file that is being read declares it.
    pub(crate) declared: Option<Span>,
    /// Whether its declaration could be read completely.
    pub(crate) health: Health,
}

impl Role {
    /// What it may do to its workspace.
    pub(crate) fn access(&self) -> Access {
        self.words
            .access
            .as_ref()
            .map_or(Access::Read, |said| said.value)
    }

    /// Whether its commands reach the network.
    pub(crate) fn network(&self) -> bool {
        self.words.network.as_ref().is_some_and(|said| said.value)
    }

    /// The role as the plan holds it.
    pub(crate) fn spec(&self, model: ModelName, verdict: Verdict) -> RoleSpec {
        RoleSpec {
            model,
            access: self.access(),
            network: self.network(),
            tools: self
                .words
                .tools
                .as_ref()
                .map(|tools| tools.iter().map(|tool| tool.value.clone()).collect()),
            instructions: self.words.instructions.clone(),
            agents: self.words.agents.as_ref().map(|said| said.value),
            effort: self.words.effort,
            gives_verdict: verdict == Verdict::Gives,
        }
    }

    /// Its name as the plan holds it.
    pub(crate) fn role_name(&self) -> RoleName {
        RoleName(self.name.clone())
    }
}

/// Whether a role ends by giving a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It approves or rejects.
    Gives,
    /// It reports.
    GivesNone,
}

/// What one file says about roles, by name.
pub(crate) type RoleTables = BTreeMap<String, RoleWords>;

/// Reads the `[role.NAME]` tables of a file.
pub(crate) fn read_tables(top: &Fields) -> RoleTables {
    top.tables("role")
        .iter()
        .map(|fields| (fields.name.clone(), RoleWords::read(fields)))
        .collect()
}

/// Every role there is: the built-in ones, under those of the user, under those of the file.
pub(crate) fn merged(top: &Fields, user: Option<&RoleTables>) -> BTreeMap<String, Role> {
    let mut words: RoleTables = BUILT_IN_ROLES
        .iter()
        .map(|built_in| {
            let access = Some(Said::elsewhere(built_in.access));
            let words = RoleWords {
                access,
                ..RoleWords::default()
            };
            (built_in.name.to_owned(), words)
        })
        .collect();
    for (name, said) in user.into_iter().flatten() {
        let base = words.remove(name).unwrap_or_default();
        words.insert(name.clone(), said.clone().over(base));
    }
    for (name, said) in read_tables(top) {
        let base = words.remove(&name).unwrap_or_default();
        words.insert(name, said.over(base));
    }
    words
        .into_iter()
        .map(|(name, words)| {
            let declaration = top.tables("role").iter().find(|fields| fields.name == name);
            let role = Role {
                name: name.clone(),
                words,
                declared: declaration.map(|fields| fields.span),
                health: declaration.map_or(Health::Sound, |fields| fields.health),
            };
            (name, role)
        })
        .collect()
}
