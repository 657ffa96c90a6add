//! Inputs whose contents are too large for a line: they move into blobs before the manager sees them,
//! so that its loop never waits for a disk. Never writes a blob.

use super::Input;
use crate::record::{AttemptFinished, Record, move_text};
use engine_core::content::{BlobRef, Content};

impl Input {
    /// True when a content of it must become a blob before it is recorded. Cheap.
    #[must_use]
    pub fn has_large(&self) -> bool {
        match self {
            // Its tasks and its roster may be; it comes once.
            Self::Open(_) => true,
            Self::Admit(ask) => ask.told.iter().any(Content::is_too_large),
            Self::Report(records) => records
                .iter()
                .any(|record| Record::from(record.clone()).has_large()),
            Self::AttemptEnded { agent, end } => Record::from(AttemptFinished {
                task: agent.task.clone(),
                attempt: agent.attempt,
                end: end.clone(),
            })
            .has_large(),
            Self::Outcome(record) => record.has_large(),
            Self::Queue(_)
            | Self::Resume { .. }
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
                record.externalize(put)?;
                match record {
                    Record::RunOpened(opened) => Self::Open(opened),
                    other => Self::Outcome(other),
                }
            }
            Self::Admit(mut ask) => {
                ask.told
                    .iter_mut()
                    .try_for_each(|text| move_text(text, put))?;
                Self::Admit(ask)
            }
            Self::Report(records) => {
                let mut kept = Vec::with_capacity(records.len());
                for record in records {
                    let mut record = Record::from(record);
                    record.externalize(put)?;
                    kept.extend(record.into_agent());
                }
                Self::Report(kept)
            }
            Self::AttemptEnded { agent, end } => {
                let (task, attempt) = (agent.task.clone(), agent.attempt);
                let mut record = Record::from(AttemptFinished { task, attempt, end });
                record.externalize(put)?;
                match record {
                    Record::AttemptFinished(finished) => Self::AttemptEnded {
                        agent,
                        end: finished.end,
                    },
                    other => Self::Outcome(other),
                }
            }
            Self::Outcome(mut record) => {
                record.externalize(put)?;
                Self::Outcome(record)
            }
            other => other,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::AttemptEnd;
    use crate::testing::finished;
    use engine_core::ids::{AgentId, AttemptNo, CallId};
    use engine_core::message::ToolStatus;
    use engine_core::record::{AgentRecord, ToolFinished};

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

    fn report(bytes: usize) -> Input {
        Input::Report(vec![AgentRecord::ToolFinished(ToolFinished {
            task: "t".parse().unwrap(),
            attempt: AttemptNo(1),
            call: CallId("c".into()),
            tool: "read".into(),
            status: ToolStatus::Ok,
            text: Content::from("x".repeat(bytes)),
        })])
    }

    #[test]
    fn only_what_does_not_fit_a_line_is_large() {
        let check = |input: Input, expected: bool| assert_eq!(input.has_large(), expected);
        check(report(100), false);
        check(report(20_000), true);
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
        let Ok(Input::Report(kept)) = report(20_000).externalize(&mut blob) else {
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
        assert_eq!(kept.call, CallId("c".into()));
    }
}
