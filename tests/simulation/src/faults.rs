//! What goes wrong in a played run: faults that a right manager bears, and bugs planted into the
//! played manager to see that the properties notice them. Never strikes by itself.

/// How often things go wrong, in percent of the occasions, and how often at most.
#[derive(Debug, Clone, Copy, Default)]
pub struct Faults {
    /// Chance of a kill at each step.
    pub kill_percent: u64,
    /// Chance that a person stops the run at each step.
    pub stop_percent: u64,
    /// Chance that a request is refused or breaks off.
    pub broken_percent: u64,
    /// Chance that a provider does not say what an answer used.
    pub silent_percent: u64,
    /// Chance that a provider bills more than was set aside.
    pub overrun_percent: u64,
    /// Chance that an outcome is delivered a second time.
    pub twice_percent: u64,
    /// Chance that an effect cannot be performed at all.
    pub impossible_percent: u64,
    /// Chance that a person asks something of the run at each step.
    pub wish_percent: u64,
    /// Managers after which nothing goes wrong any more, so that every run ends.
    pub max: u32,
}

impl Faults {
    /// Everything that a right manager bears without a task ending otherwise than it would.
    pub const BEARABLE: Self = Self {
        kill_percent: 4,
        stop_percent: 2,
        broken_percent: 5,
        silent_percent: 5,
        overrun_percent: 0,
        twice_percent: 5,
        impossible_percent: 0,
        wish_percent: 0,
        max: 12,
    };

    /// All of it, also what ends tasks.
    pub const EVERYTHING: Self = Self {
        overrun_percent: 2,
        impossible_percent: 1,
        wish_percent: 1,
        ..Self::BEARABLE
    };

    /// True when no fault of these makes a task end otherwise than it would without faults.
    #[must_use]
    pub fn are_bearable(&self) -> bool {
        self.overrun_percent == 0 && self.impossible_percent == 0 && self.wish_percent == 0
    }
}

/// A way in which a manager could be wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bug {
    /// Effects are performed before the line that announces them is durable.
    ActsTooEarly,
    /// An agent goes on before what it reported is durable.
    RepliesTooEarly,
    /// The newest line that was called durable is gone after a crash.
    LosesAcknowledgedLines,
    /// A new manager says nothing of the requests that the old one left without an answer.
    ForgetsLostRequests,
    /// A resumed agent begins its conversation anew.
    AsksAnsweredAgain,
    /// Less is set aside for a request than it may use.
    ReservesTooLittle,
    /// A workspace is not put back before an interrupted edit is repeated.
    SkipsRestore,
    /// What may have reached outside is taken for something that can be repeated.
    RepeatsWhatReachedOutside,
    /// The integration branch is moved without looking where it stands.
    MovesTheBranchBlindly,
    /// A task does not wait for what it needs.
    StartsBeforeNeeds,
    /// One agent more than allowed is live.
    ForgetsTheAgentLimit,
    /// Work lands without the review that was ordered.
    ForgetsReviews,
    /// A failed check counts as passed.
    PassesEveryCheck,
    /// An interruption counts as a failed attempt.
    CountsInterruptions,
    /// An interrupted attempt is never taken up again.
    ForgetsInterrupted,
    /// A resumed agent does not know that its conversation was made smaller.
    ForgetsCompactions,
    /// The end of a task is not read back.
    ForgetsEnds,
    /// Work in which marks of a conflict are left counts as done.
    OverlooksMarks,
    /// Who is to solve a conflict gets its own side only.
    DropsTheOtherSide,
}

impl Bug {
    /// All of them.
    pub const ALL: [Self; 19] = [
        Self::ActsTooEarly,
        Self::RepliesTooEarly,
        Self::LosesAcknowledgedLines,
        Self::ForgetsLostRequests,
        Self::AsksAnsweredAgain,
        Self::ReservesTooLittle,
        Self::SkipsRestore,
        Self::RepeatsWhatReachedOutside,
        Self::MovesTheBranchBlindly,
        Self::StartsBeforeNeeds,
        Self::ForgetsTheAgentLimit,
        Self::ForgetsReviews,
        Self::PassesEveryCheck,
        Self::CountsInterruptions,
        Self::ForgetsInterrupted,
        Self::ForgetsCompactions,
        Self::ForgetsEnds,
        Self::OverlooksMarks,
        Self::DropsTheOtherSide,
    ];
}
