//! Tasks in an order in which each stands after what it needs. Pure.

use engine_core::ids::TaskId;
use fleet_core::spec::TaskSpec;
use std::collections::BTreeSet;

/// The tasks, each after what it needs and else as written. A circle, which a validated roster has
/// not, is left at the end as it stands.
pub(super) fn ordered(mut left: Vec<TaskSpec>) -> Vec<TaskSpec> {
    let mut done: BTreeSet<TaskId> = BTreeSet::new();
    let mut sorted = Vec::with_capacity(left.len());
    loop {
        let before = sorted.len();
        let mut waiting = Vec::new();
        for task in left {
            if task.needs.iter().all(|need| done.contains(need)) {
                done.insert(task.id.clone());
                sorted.push(task);
            } else {
                waiting.push(task);
            }
        }
        left = waiting;
        if left.is_empty() || sorted.len() == before {
            sorted.append(&mut left);
            return sorted;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine_core::ids::RoleName;
    use fleet_core::spec::Budget;

    fn task(id: &str, needs: &[&str]) -> TaskSpec {
        TaskSpec {
            id: id.parse().expect("an id"),
            role: RoleName("scout".into()),
            prompt: "p".into(),
            needs: needs
                .iter()
                .map(|need| need.parse().expect("an id"))
                .collect(),
            check: Vec::new(),
            review: None,
            budget: Budget::default(),
            timeout_secs: None,
        }
    }

    #[test]
    fn each_task_stands_after_what_it_needs_and_else_as_written() {
        let tasks = vec![
            task("c", &["b"]),
            task("x", &[]),
            task("b", &["a"]),
            task("a", &[]),
        ];
        let ids: Vec<String> = ordered(tasks)
            .iter()
            .map(|task| task.id.to_string())
            .collect();
        assert_eq!(ids, ["x", "a", "b", "c"]);
    }
}
