//! The part of a transcript that deals with its being made smaller: what is known of its size, and
//! what a compaction leaves of it. Never decides on one.

use super::{IllegalRecord, Stage, Transcript, text};
use crate::context::{Bite, Left, Measured, Opening, Sizes, bytes_of};
use crate::ids::StepNo;
use crate::message::{Message, Usage};
use crate::outcome::FailureKind;
use crate::record::{ContextCompacted, Older};

/// Whether and how far a conversation was made smaller, and what is known of its size.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Compacting {
    /// The first message in its parts, once others were replaced by a summary.
    opening: Option<Opening>,
    sizes: Sizes,
    /// Bytes of the conversation of the open request.
    asked: u64,
    efforts: u32,
    compactions: u32,
}

/// Whether a summary that ended counts as an effort.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SummaryCost {
    /// It was answered, or was too large itself.
    Effort,
    /// It was lost, or met a passing fault.
    None,
}

impl Compacting {
    /// An answer to a request for work, with what it measured.
    pub(super) fn answered(&mut self, usage: Option<Usage>) {
        self.efforts = 0;
        self.compactions = 0;
        if let Some(usage) = usage {
            self.sizes.measured = Some(Measured {
                bytes: self.asked,
                input: usage.input,
            });
        }
    }

    fn effort(&mut self) {
        self.efforts = self.efforts.saturating_add(1);
    }

    fn refused(&mut self) {
        let least = self.sizes.refused.unwrap_or(u64::MAX);
        self.sizes.refused = Some(least.min(self.asked));
    }
}

impl Transcript {
    /// What is known of the size of its conversation.
    #[must_use]
    pub fn sizes(&self) -> Sizes {
        self.compacting.sizes
    }

    /// Requests that were too large, and summaries, since the last answer to a request for work.
    #[must_use]
    pub fn efforts(&self) -> u32 {
        self.compacting.efforts
    }

    /// How often it was made smaller since the last answer to a request for work.
    #[must_use]
    pub fn compactions(&self) -> u32 {
        self.compacting.compactions
    }

    pub(crate) fn opening(&self) -> Option<&Opening> {
        self.compacting.opening.as_ref()
    }

    /// A request for work is about to be open.
    pub(super) fn measure(&mut self) {
        self.compacting.asked = bytes_of(&self.messages);
    }

    /// A summary was asked for; an open request before it counts as lost.
    pub(crate) fn summary_requested(&mut self, step: StepNo) -> Result<(), IllegalRecord> {
        let then = match self.beneath() {
            Stage::Asked { .. } => Stage::ToAsk,
            stage @ (Stage::ToAsk | Stage::Answered { .. } | Stage::Overflowed { .. }) => {
                stage.clone()
            }
            _ => return Err(self.out_of_place("model.requested")),
        };
        super::expect_step("model.requested", self.next_step(), step)?;
        self.requests = step.0;
        let then = Box::new(then);
        self.stage = Stage::Summing { step, then };
        Ok(())
    }

    /// What is open apart from a summary.
    #[must_use]
    pub fn beneath(&self) -> &Stage {
        match &self.stage {
            Stage::Summing { then, .. } => then,
            stage => stage,
        }
    }

    /// The open summary ended, with an answer or without one.
    pub(super) fn end_summing(&mut self, cost: SummaryCost) {
        if let Stage::Summing { then, .. } = &self.stage {
            let then = (**then).clone();
            if cost == SummaryCost::Effort {
                self.compacting.effort();
            }
            self.stage = then;
        }
    }

    /// The open request for work was too large.
    pub(super) fn overflowed(&mut self, message: &str) {
        self.compacting.effort();
        self.compacting.refused();
        self.stage = Stage::Overflowed {
            message: message.to_owned(),
        };
    }

    pub(super) fn compacted(&mut self, record: &ContextCompacted) -> Result<(), IllegalRecord> {
        let bite = bite_of(record)?;
        let then = match self.beneath() {
            Stage::ToAsk | Stage::Asked { .. } | Stage::Overflowed { .. } => Stage::ToAsk,
            stage @ Stage::Answered { .. } => stage.clone(),
            _ => return Err(self.out_of_place("context.compacted")),
        };
        let (opening, messages) = bite.take(self.opening(), &self.messages);
        self.compacting.opening = opening;
        self.compacting.compactions = self.compacting.compactions.saturating_add(1);
        self.messages = messages;
        self.stage = then;
        Ok(())
    }

    /// Takes in what is said while only the opening is left of a compacted conversation.
    pub(super) fn tell_opening(&mut self, text: &str) -> bool {
        let (Some(opening), [Message::User { .. }]) =
            (&mut self.compacting.opening, &*self.messages)
        else {
            return false;
        };
        opening.tell(text);
        self.messages = vec![opening.message()];
        true
    }
}

/// True for a failure that says that the request was too large.
pub(super) fn is_overflow(kind: &str) -> bool {
    kind == FailureKind::ContextTooLarge.name()
}

fn bite_of(record: &ContextCompacted) -> Result<Bite, IllegalRecord> {
    Ok(Bite {
        kept: record.kept,
        kept_max: record.kept_max,
        left: match &record.older {
            Older::Cut { max } => Left::Cut(*max),
            Older::Replaced { summary, .. } => {
                Left::Summary(text("context.compacted", summary)?.to_owned())
            }
        },
    })
}
