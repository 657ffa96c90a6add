//! How the process ends: every exit code and which one wins when several hold. Never exits itself.

use std::process::ExitCode;

/// The exit codes, a contract with scripts. Repeating is safe after none of them by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Exit {
    /// Everything asked for was done.
    Done,
    /// A run in which nothing succeeded.
    Nothing,
    /// Wrong usage or configuration; nothing was started.
    Usage,
    /// Some tasks succeeded, some did not.
    Partial,
    /// The budget ended the run.
    Budget,
    /// Only a person can go on.
    Person,
    /// The provider is unavailable or refused the key.
    Provider,
    /// The ledger is damaged, or written by a newer version.
    Ledger,
    /// Storage failed, or the run is held by another process.
    Storage,
    /// Stopped by Ctrl-C.
    Interrupted,
    /// Stopped by a termination signal or a closed terminal.
    Terminated,
}

/// Every exit.
const ALL: [Exit; 11] = [
    Exit::Done,
    Exit::Nothing,
    Exit::Usage,
    Exit::Partial,
    Exit::Budget,
    Exit::Person,
    Exit::Provider,
    Exit::Ledger,
    Exit::Storage,
    Exit::Interrupted,
    Exit::Terminated,
];

impl Exit {
    /// The number that the shell sees.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Nothing => 1,
            Self::Usage => 2,
            Self::Partial => 3,
            Self::Budget => 4,
            Self::Person => 5,
            Self::Provider => 6,
            Self::Ledger => 7,
            Self::Storage => 8,
            Self::Interrupted => 130,
            Self::Terminated => 143,
        }
    }

    /// The exit of a run by the code in its ledger. A code that is not known says at least that the
    /// run was not done.
    pub(crate) fn of_code(code: u8) -> Self {
        ALL.into_iter()
            .find(|exit| exit.code() == code)
            .unwrap_or(Self::Nothing)
    }

    /// Short stable name, for programs that read errors.
    pub(crate) fn kind(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Nothing => "nothing",
            Self::Usage => "usage",
            Self::Partial => "partial",
            Self::Budget => "budget",
            Self::Person => "person",
            Self::Provider => "provider",
            Self::Ledger => "ledger",
            Self::Storage => "storage",
            Self::Interrupted => "interrupted",
            Self::Terminated => "terminated",
        }
    }

    /// The one of two that tells more: what is wrong with the record of the work before what
    /// ended the work, and that before how much of it succeeded.
    pub(crate) fn or_worse(self, other: Self) -> Self {
        if other.rank() > self.rank() {
            other
        } else {
            self
        }
    }

    fn rank(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Nothing | Self::Partial => 1,
            Self::Usage => 2,
            Self::Person => 3,
            Self::Budget => 4,
            Self::Provider => 5,
            Self::Interrupted | Self::Terminated => 6,
            Self::Storage => 7,
            Self::Ledger => 8,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

#[cfg(test)]
mod tests {
    use super::Exit::*;
    use super::*;

    #[test]
    fn the_codes_are_the_documented_ones() {
        let codes = ALL.map(Exit::code);
        assert_eq!(codes, [0, 1, 2, 3, 4, 5, 6, 7, 8, 130, 143]);
        assert_eq!(ALL.map(|exit| Exit::of_code(exit.code())), ALL);
        assert_eq!(Exit::of_code(77), Nothing);
    }

    #[test]
    fn the_documented_precedence_holds_in_either_order() {
        let documented = [Ledger, Interrupted, Provider, Budget, Person, Partial, Done];
        for (place, winner) in documented.iter().enumerate() {
            for loser in &documented[place..] {
                assert_eq!(winner.or_worse(*loser), *winner, "{winner:?} {loser:?}");
                assert_eq!(loser.or_worse(*winner), *winner, "{loser:?} {winner:?}");
            }
        }
    }

    #[test]
    fn the_first_of_equals_stays() {
        let check = |first: Exit, second: Exit| assert_eq!(first.or_worse(second), first);
        check(Interrupted, Terminated);
        check(Terminated, Interrupted);
        check(Nothing, Partial);
        check(Partial, Nothing);
    }
}
