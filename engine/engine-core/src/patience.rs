//! How often and after what wait a failed request is asked again. Never sleeps, never reads a
//! clock: the spread comes from the run's seed.
//!
//! The wait before the n-th resend is `FIRST_WAIT * 2^(n-1)`, at most `LONGEST_BACKOFF`, and up to
//! a half of it more. A wait the provider asked for is kept to the full, and up to a quarter of it
//! more: spreading only ever adds.

use crate::failure::{ContentSeen, FailureClass, ModelFailure};
use crate::ids::{AgentId, StepNo};
use crate::outcome::FailureKind;
use std::time::Duration;

/// Resends in a row after failures before any content.
pub const MAX_RESENDS: u32 = 3;
/// Broken answers in a row that end an attempt.
pub const MAX_STREAM_ERRORS: u32 = 5;
/// The wait before the first resend, without its spread.
pub const FIRST_WAIT: Duration = Duration::from_secs(1);
/// The longest wait the agent chooses by itself, without its spread.
pub const LONGEST_BACKOFF: Duration = Duration::from_secs(30);
/// The longest wait a provider may ask for; a longer one fails the attempt.
pub const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// What an agent has borne since the last answer. Not recorded: a resume begins with new patience.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Patience {
    unanswered: u32,
    broken: u32,
}

/// What follows a failed request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Sequel {
    /// It is asked again after this wait.
    AskAgain(Duration),
    /// The attempt fails.
    GiveUp {
        /// As what.
        kind: FailureKind,
        /// In one sentence.
        message: String,
    },
}

impl Patience {
    /// Takes in one more failure.
    pub(crate) fn bear(&mut self, failure: &ModelFailure, spread: Spread) -> Sequel {
        let give_up = |kind| Sequel::GiveUp {
            kind,
            message: failure.message.clone(),
        };
        match failure.class {
            FailureClass::Overflow => give_up(FailureKind::ContextTooLarge),
            FailureClass::Fatal => give_up(FailureKind::RequestRefused),
            FailureClass::NotThere => give_up(FailureKind::RefusedForGood),
            FailureClass::KeyRefused => give_up(FailureKind::KeyRefused),
            FailureClass::Unavailable
            | FailureClass::StreamBroken {
                content: ContentSeen::No,
            } => self.bear_unanswered(failure, None, spread),
            FailureClass::Retry { after } => self.bear_unanswered(failure, after, spread),
            FailureClass::StreamBroken {
                content: ContentSeen::Yes,
            } => self.bear_broken(failure, spread),
        }
    }

    fn bear_unanswered(
        &mut self,
        failure: &ModelFailure,
        asked: Option<Duration>,
        spread: Spread,
    ) -> Sequel {
        let asked = asked.filter(|wait| !wait.is_zero());
        if let Some(wait) = asked.filter(|wait| *wait > LONGEST_WAIT) {
            let asks = format!("it asks to wait {} s", wait.as_secs());
            return gone(failure, self.unanswered, &asks);
        }
        if self.unanswered == MAX_RESENDS {
            return gone(failure, self.unanswered, "given up");
        }
        self.unanswered += 1;
        Sequel::AskAgain(match asked {
            Some(wait) => spread.add_quarter(wait),
            None => spread.add_half(backoff(self.unanswered)),
        })
    }

    fn bear_broken(&mut self, failure: &ModelFailure, spread: Spread) -> Sequel {
        self.broken += 1;
        if self.broken == MAX_STREAM_ERRORS {
            return Sequel::GiveUp {
                kind: FailureKind::StreamBroken,
                message: format!("{MAX_STREAM_ERRORS} answers broke off: {}", failure.message),
            };
        }
        Sequel::AskAgain(spread.add_half(backoff(self.broken)))
    }
}

fn gone(failure: &ModelFailure, resends: u32, end: &str) -> Sequel {
    let times = if resends == 1 { "time" } else { "times" };
    Sequel::GiveUp {
        kind: FailureKind::ProviderUnavailable,
        message: format!("{} (asked again {resends} {times}, {end})", failure.message),
    }
}

fn backoff(resend: u32) -> Duration {
    let doubled = FIRST_WAIT.saturating_mul(1 << (resend - 1).min(16));
    doubled.min(LONGEST_BACKOFF)
}

/// A number that differs between agents limited at the same moment, and is the same in each replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Spread(u64);

impl Spread {
    /// Mixes the run's seed with whose request it is.
    pub(crate) fn of(seed: u64, agent: &AgentId, step: StepNo) -> Self {
        let name = agent.task.as_str().bytes();
        let numbers = [agent.attempt.0, step.0].map(u32::to_le_bytes);
        let mixed = name
            .chain(numbers.into_iter().flatten())
            .fold(seed, |state, byte| mix(state ^ u64::from(byte)));
        Self(mix(mixed))
    }

    fn add_half(self, wait: Duration) -> Duration {
        wait + self.share(wait / 2)
    }

    fn add_quarter(self, wait: Duration) -> Duration {
        wait + self.share(wait / 4)
    }

    /// A part of a wait, in 1,024 steps.
    fn share(self, wait: Duration) -> Duration {
        let part = u32::try_from(self.0 % 1024).expect("a rest of 1024 fits");
        wait * part / 1024
    }
}

/// The finaliser of SplitMix64 (Steele, Lea, Flood 2014).
fn mix(state: u64) -> u64 {
    let z = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::AttemptNo;
    use crate::record::Billed;
    use std::collections::BTreeSet;

    const UNAVAILABLE: FailureClass = FailureClass::Unavailable;
    const BROKEN: FailureClass = FailureClass::StreamBroken {
        content: ContentSeen::Yes,
    };
    const SILENT: FailureClass = FailureClass::StreamBroken {
        content: ContentSeen::No,
    };

    fn retry(after: Option<u64>) -> FailureClass {
        FailureClass::Retry {
            after: after.map(Duration::from_millis),
        }
    }

    fn spread(task: usize) -> Spread {
        let agent = AgentId {
            task: format!("t{task}").parse().unwrap(),
            attempt: AttemptNo(1),
        };
        Spread::of(7, &agent, StepNo(1))
    }

    fn bear(patience: &mut Patience, class: FailureClass, spread: Spread) -> Sequel {
        let failure = ModelFailure {
            class,
            kind: "x".to_owned(),
            message: "busy".to_owned(),
            billed: Billed::Nothing,
        };
        patience.bear(&failure, spread)
    }

    /// Feeds the failures; all but the last must be borne, with a wait in its band (milliseconds).
    fn check(classes: &[FailureClass], bands: &[(u128, u128)], end: Option<(FailureKind, &str)>) {
        let mut patience = Patience::default();
        let mut bands = bands.iter();
        let mut ended = None;
        for class in classes {
            match bear(&mut patience, *class, spread(3)) {
                Sequel::AskAgain(wait) => {
                    let (least, most) = bands.next().expect("a band for each wait");
                    let ms = wait.as_millis();
                    assert!((*least..=*most).contains(&ms), "{ms} ms, {classes:?}");
                }
                Sequel::GiveUp { kind, message } => ended = Some((kind, message)),
            }
        }
        assert_eq!(bands.next(), None, "{classes:?}");
        let end = end.map(|(kind, message)| (kind, message.to_owned()));
        assert_eq!(ended, end, "{classes:?}");
    }

    #[test]
    fn what_would_fail_again_is_never_asked_again() {
        let at_once = |class, kind| check(&[class], &[], Some((kind, "busy")));
        at_once(FailureClass::Overflow, FailureKind::ContextTooLarge);
        at_once(FailureClass::Fatal, FailureKind::RequestRefused);
        at_once(FailureClass::NotThere, FailureKind::RefusedForGood);
        at_once(FailureClass::KeyRefused, FailureKind::KeyRefused);
    }

    #[test]
    fn passing_faults_are_asked_again_three_times() {
        let gone = |message| Some((FailureKind::ProviderUnavailable, message));
        let three = [(1000, 1500), (2000, 3000), (4000, 6000)];
        check(&[UNAVAILABLE], &three[..1], None);
        check(
            &[UNAVAILABLE, retry(None), SILENT, retry(None)],
            &three,
            gone("busy (asked again 3 times, given up)"),
        );
    }

    #[test]
    fn a_wait_that_was_asked_for_is_kept() {
        let gone = |message| Some((FailureKind::ProviderUnavailable, message));
        check(&[retry(Some(7000))], &[(7000, 8750)], None);
        check(&[retry(Some(250))], &[(250, 313)], None);
        check(&[retry(Some(1500))], &[(1500, 1875)], None);
        check(&[retry(Some(0))], &[(1000, 1500)], None);
        check(&[retry(Some(60_000))], &[(60_000, 75_000)], None);
        check(
            &[retry(Some(86_400_000))],
            &[],
            gone("busy (asked again 0 times, it asks to wait 86400 s)"),
        );
        check(
            &[retry(None), retry(Some(61_000))],
            &[(1000, 1500)],
            gone("busy (asked again 1 time, it asks to wait 61 s)"),
        );
    }

    #[test]
    fn the_fifth_broken_answer_ends_the_attempt() {
        check(
            &[BROKEN; 5],
            &[(1000, 1500), (2000, 3000), (4000, 6000), (8000, 12_000)],
            Some((FailureKind::StreamBroken, "5 answers broke off: busy")),
        );
    }

    #[test]
    fn agents_limited_at_the_same_moment_spread() {
        let waits = |after| -> BTreeSet<Duration> {
            let wait = |task| match bear(&mut Patience::default(), retry(after), spread(task)) {
                Sequel::AskAgain(wait) => wait,
                Sequel::GiveUp { message, .. } => panic!("{message}"),
            };
            (0..8).map(wait).collect()
        };
        assert!(waits(None).len() >= 4);
        let asked = waits(Some(5000));
        assert!(asked.len() >= 4);
        assert!(asked.iter().all(|wait| *wait >= Duration::from_secs(5)));
    }
}
