//! `[limits]` and `[budget]`: what a file says, and what holds in the end.

use crate::tree::Fields;
use engine_core::ids::Tokens;
use fleet_core::spec::{Budget, Limits};

/// The limits that a file sets; the others stay open.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct LimitWords {
    agents: Option<u32>,
    attempts: Option<u32>,
    steps: Option<u32>,
    wall_secs: Option<u64>,
}

impl LimitWords {
    /// Reads `[limits]` below the top of a file.
    pub(crate) fn read(top: &Fields) -> Self {
        let Some(limits) = top.table("limits") else {
            return Self::default();
        };
        Self {
            agents: small(limits, "agents"),
            attempts: small(limits, "attempts"),
            steps: small(limits, "steps"),
            wall_secs: limits.number("wall").map(|spot| spot.value),
        }
    }

    /// Lowers each limit that is above what this file sets.
    pub(crate) fn lower(self, limits: &mut Limits) {
        lower(&mut limits.agents, self.agents);
        lower(&mut limits.attempts, self.attempts);
        lower(&mut limits.steps, self.steps);
        lower(&mut limits.wall_secs, self.wall_secs);
    }

    /// The limits that hold: these, else those of `base`, else the built-in ones.
    pub(crate) fn over(self, base: Self) -> Limits {
        let built_in = Limits::default();
        Limits {
            agents: self.agents.or(base.agents).unwrap_or(built_in.agents),
            attempts: self.attempts.or(base.attempts).unwrap_or(built_in.attempts),
            steps: self.steps.or(base.steps).unwrap_or(built_in.steps),
            wall_secs: self
                .wall_secs
                .or(base.wall_secs)
                .unwrap_or(built_in.wall_secs),
        }
    }
}

fn lower<T: Ord + Copy>(limit: &mut T, most: Option<T>) {
    *limit = most.map_or(*limit, |most| most.min(*limit));
}

/// A count whose key table keeps it far below the largest `u32`.
pub(crate) fn small(fields: &Fields, key: &str) -> Option<u32> {
    fields
        .number(key)
        .map(|spot| u32::try_from(spot.value).unwrap_or(u32::MAX))
}

/// Reads `budget` of a table.
pub(crate) fn budget(fields: &Fields) -> Budget {
    Budget {
        tokens: fields
            .table("budget")
            .and_then(|budget| budget.number("tokens"))
            .map(|spot| Tokens(spot.value)),
    }
}
