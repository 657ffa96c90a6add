//! Inputs whose contents are too large for a line: they move into blobs before the manager sees them,
//! so that its loop never waits for a disk. Never writes a blob.

use super::Input;
use crate::record::{AttemptEnd, AttemptFinished, Record, move_text};
use engine_core::content::{BlobRef, Content, INLINE_MAX_BYTES};
use engine_core::record::AgentRecord;

/// Most bytes of texts in one line: even if each takes six bytes in JSON, the line holds them.
const LINE_TEXT_MAX_BYTES: usize = 150 * 1024;

impl Input {
    /// True when a content of it must become a blob before it is recorded. Copies nothing.
    #[must_use]
    pub fn has_large(&self) -> bool {
        match self {
            // Its tasks and its roster may be; it comes once.
            Self::Open(_) => true,
            Self::Outcome(Record::CheckFinished(check)) => check.output.is_too_large(),
            Self::Outcome(Record::LandingConflicted(conflicted)) => conflicted
                .returned
                .as_ref()
                .is_some_and(|returned| returned.report.is_too_large()),
            Self::Admit(ask) => ask.told.iter().any(Content::is_too_large),
            Self::Report(records) => limit_of(records) < usize::MAX,
            Self::AttemptEnded { end, .. } => {
                matches!(end, AttemptEnd::Finished { text } if text.is_too_large())
            }
            Self::Outcome(_)
            | Self::Queue(_)
            | Self::Resume { .. }
            | Self::Wish(_)
            | Self::EffectFailed { .. }
            | Self::Stop { .. } => false,
        }
    }

    /// Moves what is too large for a line into blobs.
    ///
    /// # Errors
    /// What `put` answers.
    pub fn externalize<E>(
        self,
        put: &mut dyn FnMut(&[u8]) -> Result<BlobRef, E>,
    ) -> Result<Self, E> {
        Ok(match self {
            Self::Open(opened) => {
                let mut record = Record::RunOpened(opened);
                record.externalize(INLINE_MAX_BYTES, put)?;
                match record {
                    Record::RunOpened(opened) => Self::Open(opened),
                    other => Self::Outcome(other),
                }
            }
            Self::Admit(mut ask) => {
                let mut told = ask.told.iter_mut();
                told.try_for_each(|text| move_text(text, INLINE_MAX_BYTES, put))?;
                Self::Admit(ask)
            }
            Self::Report(records) => {
                let limit = limit_of(&records);
                let mut kept = Vec::with_capacity(records.len());
                for record in records {
                    let mut record = Record::from(record);
                    record.externalize(limit, put)?;
                    kept.extend(record.into_agent());
                }
                Self::Report(kept)
            }
            Self::AttemptEnded { agent, end } => {
                let (task, attempt) = (agent.task.clone(), agent.attempt);
                let mut record = Record::from(AttemptFinished { task, attempt, end });
                record.externalize(INLINE_MAX_BYTES, put)?;
                match record {
                    Record::AttemptFinished(finished) => Self::AttemptEnded {
                        agent,
                        end: finished.end,
                    },
                    other => Self::Outcome(other),
                }
            }
            Self::Outcome(mut record) => {
                record.externalize(INLINE_MAX_BYTES, put)?;
                Self::Outcome(record)
            }
            other => other,
        })
    }
}

/// The size above which contents of a line become blobs: the usual one, or a smaller one that makes
/// many of them fit together; the largest number when all may stay.
fn limit_of(records: &[AgentRecord]) -> usize {
    let staying = |limit: usize| -> usize {
        records
            .iter()
            .map(AgentRecord::inline_bytes)
            .filter(|bytes| *bytes <= limit)
            .sum()
    };
    let mut limit = INLINE_MAX_BYTES;
    while limit > 0 && staying(limit) > LINE_TEXT_MAX_BYTES {
        limit /= 2;
    }
    let all_stay = records.iter().all(|record| record.inline_bytes() <= limit);
    if all_stay { usize::MAX } else { limit }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::finished;
    use engine_core::ids::{AgentId, AttemptNo, CallId};
    use engine_core::message::ToolStatus;
    use engine_core::record::ToolFinished;

    fn blob(bytes: &[u8]) -> Result<BlobRef, std::convert::Infallible> {
        Ok(BlobRef {
            blob: "ab".into(),
            bytes: bytes.len() as u64,
        })
    }

    fn agent() -> AgentId {
        AgentId {
            task: "t".parse().unwrap(),
            attempt: AttemptNo(1),
        }
    }

    fn report(texts: usize, bytes: usize) -> Input {
        let text = Content::from("x".repeat(bytes));
        let finished = |n: usize| {
            AgentRecord::ToolFinished(ToolFinished {
                task: "t".parse().unwrap(),
                attempt: AttemptNo(1),
                call: CallId(format!("c{n}")),
                tool: "read".into(),
                status: ToolStatus::Ok,
                text: text.clone(),
            })
        };
        Input::Report((0..texts).map(finished).collect())
    }

    #[test]
    fn only_what_does_not_fit_a_line_is_large() {
        let check = |input: Input, expected: bool| assert_eq!(input.has_large(), expected);
        check(report(1, 100), false);
        check(report(1, 20_000), true);
        check(report(9, 16_000), false);
        check(report(100, 16_000), true);
        check(
            Input::AttemptEnded {
                agent: agent(),
                end: finished(),
            },
            false,
        );
        let text = Content::from("y".repeat(20_000));
        check(
            Input::AttemptEnded {
                agent: agent(),
                end: AttemptEnd::Finished { text },
            },
            true,
        );
    }

    #[test]
    fn a_large_text_is_replaced_by_its_reference_and_nothing_else_changes() {
        let Ok(Input::Report(kept)) = report(1, 20_000).externalize(&mut blob) else {
            panic!("a report")
        };
        let [AgentRecord::ToolFinished(kept)] = kept.as_slice() else {
            panic!("one record")
        };
        assert_eq!(
            kept.text,
            Content::Blob(BlobRef {
                blob: "ab".into(),
                bytes: 20_000
            })
        );
        assert_eq!(kept.call, CallId("c0".into()));
    }

    #[test]
    fn many_texts_together_never_outgrow_a_line() {
        for (texts, bytes) in [(65, 16_000), (1_000, 3_000), (3_000, 100)] {
            let Ok(Input::Report(kept)) = report(texts, bytes).externalize(&mut blob) else {
                panic!("a report")
            };
            let inline: usize = kept.iter().map(AgentRecord::inline_bytes).sum();
            assert!(
                inline <= LINE_TEXT_MAX_BYTES,
                "{texts} of {bytes}: {inline}"
            );
            assert_eq!(kept.len(), texts);
        }
    }
}
