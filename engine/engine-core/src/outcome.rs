//! How an agent's attempt ended. Never says what the fleet makes of it.

use crate::record::Verdict;
use serde::{Deserialize, Serialize};

/// What ends an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// An answer without calls: its text is the result.
    Answer,
    /// A call of the `verdict` tool.
    Verdict,
}

/// How an agent's attempt ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentOutcome {
    /// It gave its final message.
    Finished {
        /// The message. Never blank.
        text: String,
    },
    /// A reviewer gave its verdict.
    Verdict {
        /// The verdict.
        verdict: Verdict,
        /// What must change, or why it is good. Never blank.
        findings: String,
    },
    /// It cannot go on.
    Failed {
        /// Why, for filters and exit codes.
        kind: FailureKind,
        /// Why, in one sentence.
        message: String,
    },
    /// The next request was refused by a budget.
    Budget {
        /// Which budget, in one sentence.
        reason: String,
    },
    /// It was stopped. All its calls have results, so that it can be resumed.
    Interrupted,
}

/// Why an attempt failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureKind {
    /// The conversation outgrew the model's window.
    ContextTooLarge,
    /// The provider refused the request for good, after it had answered others of this attempt.
    RequestRefused,
    /// It refuses whatever this task asks: another attempt would be refused alike.
    RefusedForGood,
    /// The provider refused the key.
    KeyRefused,
    /// The provider stayed unavailable through all resends, or asked for too long a wait.
    ProviderUnavailable,
    /// The answers kept breaking off.
    StreamBroken,
    /// The output limit cut too many answers in a row.
    OutputLimit,
    /// Too many answers in a row held calls whose arguments are no JSON object.
    InvalidArguments,
    /// Too many answers in a row held neither text nor a call.
    EmptyAnswers,
    /// The provider withheld an answer.
    Filtered,
    /// The limit on model requests of one attempt was reached.
    StepLimit,
    /// A reviewer ended without a verdict, even when asked for it.
    NoVerdict,
    /// The workspace could not be kept or put back.
    Workspace,
    /// Its own records do not fit together.
    History,
}

impl FailureKind {
    /// True when no request of anybody would be answered.
    #[must_use]
    pub fn is_of_provider(self) -> bool {
        matches!(self, Self::KeyRefused | Self::ProviderUnavailable)
    }

    /// Its stable name, as in records.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ContextTooLarge => "context-too-large",
            Self::RequestRefused => "request-refused",
            Self::RefusedForGood => "refused-for-good",
            Self::KeyRefused => "key-refused",
            Self::ProviderUnavailable => "provider-unavailable",
            Self::StreamBroken => "stream-broken",
            Self::OutputLimit => "output-limit",
            Self::InvalidArguments => "invalid-arguments",
            Self::EmptyAnswers => "empty-answers",
            Self::Filtered => "filtered",
            Self::StepLimit => "step-limit",
            Self::NoVerdict => "no-verdict",
            Self::Workspace => "workspace",
            Self::History => "history",
        }
    }
}

impl std::fmt::Display for FailureKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_is_what_a_record_holds() {
        for kind in [
            FailureKind::ContextTooLarge,
            FailureKind::RequestRefused,
            FailureKind::RefusedForGood,
            FailureKind::KeyRefused,
            FailureKind::ProviderUnavailable,
            FailureKind::StreamBroken,
            FailureKind::OutputLimit,
            FailureKind::InvalidArguments,
            FailureKind::EmptyAnswers,
            FailureKind::Filtered,
            FailureKind::StepLimit,
            FailureKind::NoVerdict,
            FailureKind::Workspace,
            FailureKind::History,
        ] {
            let json = serde_json::to_string(&kind).unwrap();
            assert_eq!(json, format!("\"{}\"", kind.name()));
        }
    }
}
