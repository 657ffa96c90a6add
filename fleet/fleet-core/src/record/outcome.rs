//! What an agent's own outcome means to the fleet. Never decides what follows from it.

use super::AttemptEnd;
use engine_core::content::Content;
use engine_core::outcome::{AgentOutcome, FailureKind};

/// Most characters of a message in a record.
const MESSAGE_MAX_CHARS: usize = 2_000;

impl AttemptEnd {
    /// A failure that counts against the task's attempts.
    #[must_use]
    pub fn failed(kind: &str, message: &str) -> Self {
        Self::Failed {
            kind: kind.to_owned(),
            message: shortened(message),
        }
    }
}

impl From<AgentOutcome> for AttemptEnd {
    fn from(outcome: AgentOutcome) -> Self {
        match outcome {
            AgentOutcome::Finished { text } => Self::Finished {
                text: Content::from(text),
            },
            AgentOutcome::Verdict { verdict, .. } => Self::Verdict { verdict },
            AgentOutcome::Budget { reason } => Self::Budget { message: reason },
            AgentOutcome::Interrupted => Self::Interrupted,
            AgentOutcome::Failed {
                kind: FailureKind::KeyRefused | FailureKind::ProviderUnavailable,
                message,
            } => Self::Provider { message },
            AgentOutcome::Failed {
                kind: FailureKind::RefusedForGood,
                message,
            } => Self::Refused {
                message: shortened(&message),
            },
            AgentOutcome::Failed { kind, message } => Self::failed(kind.name(), &message),
        }
    }
}

fn shortened(message: &str) -> String {
    message.chars().take(MESSAGE_MAX_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_of_the_provider_is_none_of_the_attempt() {
        let check = |kind: FailureKind, expected: AttemptEnd| {
            let message = "why".to_owned();
            assert_eq!(
                AttemptEnd::from(AgentOutcome::Failed { kind, message }),
                expected
            );
        };
        let message = || "why".to_owned();
        check(
            FailureKind::ProviderUnavailable,
            AttemptEnd::Provider { message: message() },
        );
        check(
            FailureKind::KeyRefused,
            AttemptEnd::Provider { message: message() },
        );
        check(
            FailureKind::RefusedForGood,
            AttemptEnd::Refused { message: message() },
        );
        check(
            FailureKind::StepLimit,
            AttemptEnd::failed("step-limit", "why"),
        );
    }

    #[test]
    fn a_long_message_is_shortened_at_a_character() {
        let AttemptEnd::Failed { message, .. } = AttemptEnd::failed("k", &"é".repeat(3_000))
        else {
            panic!("it is a failure");
        };
        assert_eq!(message.chars().count(), MESSAGE_MAX_CHARS);
    }
}
