//! What the effect class of a tool call decides: what runs beside it, whether the workspace is kept
//! after it, and what becomes of it when the process died while it ran. Never asks a person.

use crate::tool::EffectClass;

/// What becomes of a call that had started and has no recorded outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterCrash {
    /// It is run again: it changes nothing.
    Again,
    /// The workspace is put back to the last snapshot, then it is run again.
    RestoreThenAgain,
    /// It is not repeated: the model is told that it may or may not have happened.
    Uncertain,
}

/// How calls of one answer run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Beside its neighbours of the same kind.
    Parallel,
    /// Alone, after all before it and before all after it.
    Alone,
}

/// Whether the workspace is kept after a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// It cannot have changed.
    Nothing,
    /// It may have changed: a snapshot belongs to the outcome.
    Snapshot,
}

impl EffectClass {
    /// What becomes of a started call without outcome.
    #[must_use]
    pub fn after_crash(self) -> AfterCrash {
        match self {
            Self::Reads => AfterCrash::Again,
            Self::Edits | Self::Runs => AfterCrash::RestoreThenAgain,
            Self::Reaches => AfterCrash::Uncertain,
        }
    }

    /// What may run beside it.
    #[must_use]
    pub fn order(self) -> Order {
        match self {
            Self::Reads => Order::Parallel,
            Self::Edits | Self::Runs | Self::Reaches => Order::Alone,
        }
    }

    /// Whether a snapshot belongs to its outcome.
    #[must_use]
    pub fn keep(self) -> Keep {
        match self {
            Self::Reads => Keep::Nothing,
            Self::Edits | Self::Runs | Self::Reaches => Keep::Snapshot,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_class_has_its_row() {
        let check = |class: EffectClass, row: (AfterCrash, Order, Keep)| {
            assert_eq!(
                (class.after_crash(), class.order(), class.keep()),
                row,
                "{class:?}"
            );
        };
        check(
            EffectClass::Reads,
            (AfterCrash::Again, Order::Parallel, Keep::Nothing),
        );
        check(
            EffectClass::Edits,
            (AfterCrash::RestoreThenAgain, Order::Alone, Keep::Snapshot),
        );
        check(
            EffectClass::Runs,
            (AfterCrash::RestoreThenAgain, Order::Alone, Keep::Snapshot),
        );
        check(
            EffectClass::Reaches,
            (AfterCrash::Uncertain, Order::Alone, Keep::Snapshot),
        );
    }
}
