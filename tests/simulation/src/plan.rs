//! Random plans: tasks, needs, checks, reviews, limits and caps. Never an invalid one.

use crate::random::Random;
use engine_core::ids::{ModelName, RoleName, TaskId, Tokens};
use engine_core::record::Json;
use engine_core::tool::Access;
use fleet_core::ids::{BranchName, CommitId, RunId};
use fleet_core::record::RunOpened;
use fleet_core::spec::{Budget, Limits, RoleSpec, RunSpec, TaskSpec, WorkspaceSpec};
use std::collections::BTreeMap;

fn role(access: Access, gives_verdict: bool, agents: Option<u32>) -> RoleSpec {
    RoleSpec {
        model: ModelName {
            provider: "world".into(),
            model: "m".into(),
        },
        access,
        network: false,
        tools: None,
        instructions: None,
        agents,
        effort: None,
        gives_verdict,
    }
}

fn task_id(number: usize) -> TaskId {
    format!("t{number}")
        .parse()
        .expect("a letter and digits are a task id")
}

fn task(number: usize, random: &mut Random) -> TaskSpec {
    let writes = random.chance(50);
    let needs = (0..number)
        .filter(|_| random.chance(25))
        .map(task_id)
        .collect();
    let checks = if writes { random.below(3) } else { 0 };
    TaskSpec {
        id: task_id(number),
        role: RoleName(if writes { "builder" } else { "scout" }.into()),
        prompt: "work".into(),
        needs,
        check: (0..checks).map(|n| format!("check {n}")).collect(),
        review: (writes && random.chance(40)).then(|| RoleName("reviewer".into())),
        budget: Budget {
            tokens: random.chance(10).then_some(Tokens(4_000)),
        },
        timeout_secs: None,
    }
}

/// A run's first record and its tasks.
pub(crate) fn plan(seed: u64, random: &mut Random) -> (Box<RunOpened>, Vec<TaskSpec>) {
    let count = 1 + random.below(9);
    let tasks: Vec<TaskSpec> = (0..count).map(|number| task(number, random)).collect();
    let builders = random.chance(30).then_some(1);
    let plan = RunSpec {
        name: "sim".into(),
        goal: None,
        base: None,
        limits: Limits {
            agents: 1 + u32::try_from(random.below(4)).unwrap_or(0),
            attempts: 1 + u32::try_from(random.below(3)).unwrap_or(0),
            ..Limits::default()
        },
        budget: Budget {
            tokens: random.chance(30).then_some(Tokens(20_000)),
        },
        workspace: WorkspaceSpec::default(),
        providers: BTreeMap::new(),
        roles: [
            (RoleName("scout".into()), role(Access::Read, false, None)),
            (
                RoleName("builder".into()),
                role(Access::Write, false, builders),
            ),
            (RoleName("reviewer".into()), role(Access::Read, true, None)),
        ]
        .into(),
        tasks: Vec::new(),
    };
    let opened = RunOpened {
        run: RunId("sim-261130-aaaa".into()),
        version: "0".into(),
        repository: "/sim".into(),
        base: Some(CommitId("base".into())),
        base_branch: None,
        integration: Some(BranchName("codewhale/sim/integration".into())),
        seed,
        plan,
        tasks: Json::of(&tasks).expect("tasks are plain JSON"),
        task_count: u32::try_from(count).unwrap_or(0),
        roster: None,
    };
    (Box::new(opened), tasks)
}
