//! What is left of a conversation when it has been made smaller, and how much smaller it should be
//! made. The same values give the same conversation for ever: a resume depends on it. Never parts a
//! call from its result, never loses what a person or the fleet said.

use super::shorten::{LEAST_BYTES, shorten};
use super::words::{SUMMARY_FOLLOWS, TOLD_FOLLOWS};
use super::{SUMMARY_MAX_BYTES, bytes_of, digest};
use crate::message::Message;
use crate::prompt::whole_block;
use crate::turn::is_nudge;

/// Sizes that older results and arguments are cut to, one after the other, in bytes.
const OLDER_MAX: [u32; 2] = [2_048, 512];
/// Least part of a conversation that a bite must take away, in percent: smaller ones are not worth
/// what they cost, and would follow each other.
const LEAST_GAIN_PERCENT: u64 = 15;

/// The first message of a conversation, in the parts that it consists of once others were replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Opening {
    /// The first message as it was: the task. Never changes.
    first: String,
    summary: Option<String>,
    /// What was said in messages that are gone.
    told: Vec<String>,
}

impl Opening {
    /// Of a conversation from which nothing was taken away yet.
    pub(crate) fn of(messages: &[Message]) -> Self {
        Self {
            first: match messages.first() {
                Some(Message::User { text }) => text.clone(),
                _ => String::new(),
            },
            summary: None,
            told: Vec::new(),
        }
    }

    pub(crate) fn tell(&mut self, text: &str) {
        if !is_nudge(text) {
            self.told.push(text.to_owned());
        }
    }

    pub(crate) fn summary(&self) -> Option<&str> {
        self.summary.as_deref()
    }

    /// The message.
    pub(crate) fn message(&self) -> Message {
        let mut parts = vec![self.first.clone()];
        if let Some(summary) = &self.summary {
            parts.push(SUMMARY_FOLLOWS.to_owned());
            parts.push(whole_block("summary", summary));
        }
        if !self.told.is_empty() {
            parts.push(TOLD_FOLLOWS.to_owned());
            parts.extend(self.told.iter().cloned());
        }
        Message::User {
            text: parts.join("\n\n"),
        }
    }
}

/// How a conversation is made smaller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bite {
    /// Messages at its end that stay. One more stays where that keeps a call with its result.
    pub(crate) kept: u32,
    /// Their results and arguments are cut to this many bytes.
    pub(crate) kept_max: Option<u32>,
    pub(crate) left: Left,
}

/// What is left of the messages before those that stay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Left {
    /// All of them, their results and arguments cut to this many bytes.
    Cut(u32),
    /// This summary.
    Summary(String),
}

impl Bite {
    /// The conversation that is left, and its opening where that is no longer the plain first message.
    pub(crate) fn take(
        &self,
        opening: Option<&Opening>,
        messages: &[Message],
    ) -> (Option<Opening>, Vec<Message>) {
        let start = tail_start(messages, self.kept);
        let (older, newest) = messages.split_at(start);
        let newest = newest.iter().map(|message| match self.kept_max {
            Some(max) => shorten(message, max as usize),
            None => message.clone(),
        });
        match &self.left {
            Left::Cut(max) => {
                let older = older.iter().map(|message| shorten(message, *max as usize));
                (opening.cloned(), older.chain(newest).collect())
            }
            Left::Summary(summary) => {
                let mut opening = opening.cloned().unwrap_or_else(|| Opening::of(messages));
                opening.summary = Some(summary.clone());
                for message in older.iter().skip(1) {
                    if let Message::User { text } = message {
                        opening.tell(text);
                    }
                }
                let mut newest: Vec<Message> = newest.collect();
                if let Some(Message::User { text }) = newest.first() {
                    opening.tell(text);
                    newest.remove(0);
                }
                newest.insert(0, opening.message());
                (Some(opening), newest)
            }
        }
    }
}

/// Where the messages that stay begin: never at results, never at the first message.
fn tail_start(messages: &[Message], kept: u32) -> usize {
    let start = messages.len().saturating_sub(kept as usize).max(1);
    match messages.get(start) {
        Some(Message::Results { .. }) => start - 1,
        _ => start.min(messages.len()),
    }
}

/// What would make a conversation smaller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Plan {
    /// This, at once.
    Take(Bite),
    /// A summary, with what stays beside it. The rest of the bite is still to be written.
    Summarise {
        /// Messages at the end that stay.
        kept: u32,
        /// Their results and arguments are cut to this many bytes.
        kept_max: Option<u32>,
    },
}

/// How to bring a conversation below `goal` bytes, the cheapest way first. `None`: there is nothing to
/// take away that would be worth it.
pub(crate) fn plan(opening: Option<&Opening>, messages: &[Message], goal: u64) -> Option<Plan> {
    let before = bytes_of(messages);
    let gains =
        |after: u64| after.saturating_mul(100) <= before.saturating_mul(100 - LEAST_GAIN_PERCENT);
    let (start, kept_max) = newest(messages, goal / 2);
    let kept = u32::try_from(messages.len() - start).unwrap_or(u32::MAX);
    let after = |bite: &Bite| bytes_of(&bite.take(opening, messages).1);
    let cuts = OLDER_MAX.map(|max| Bite {
        kept,
        kept_max,
        left: Left::Cut(max),
    });
    let mut best = None;
    for bite in cuts {
        let size = after(&bite);
        if size <= goal && gains(size) {
            return Some(Plan::Take(bite));
        }
        best = gains(size).then_some(bite).or(best);
    }
    let summarised = Bite {
        kept,
        kept_max,
        left: Left::Summary("x".repeat(SUMMARY_MAX_BYTES.min(to_size(goal / 4)))),
    };
    if start > 1 && gains(after(&summarised)) {
        return Some(Plan::Summarise { kept, kept_max });
    }
    best.map(Plan::Take)
}

/// The same conversation made smaller without a model's help.
pub(crate) fn squeeze(opening: Option<&Opening>, messages: &[Message], goal: u64) -> Vec<Message> {
    match plan(opening, messages, goal) {
        None => messages.to_vec(),
        Some(Plan::Take(bite)) => bite.take(opening, messages).1,
        Some(Plan::Summarise { kept, kept_max }) => {
            let bite = whole(opening, messages, (kept, kept_max), goal);
            bite.take(opening, messages).1
        }
    }
}

/// A planned summary with a list of what was done in place of the model's words.
pub(crate) fn whole(
    opening: Option<&Opening>,
    messages: &[Message],
    (kept, kept_max): (u32, Option<u32>),
    goal: u64,
) -> Bite {
    let older = &messages[..tail_start(messages, kept)];
    let before = opening.and_then(Opening::summary);
    let max = SUMMARY_MAX_BYTES.min(to_size(goal / 4));
    Bite {
        kept,
        kept_max,
        left: Left::Summary(digest(before, older, max)),
    }
}

/// Where the newest messages begin that together have at most `most` bytes, or one exchange; and what
/// its results must be cut to where it has more.
fn newest(messages: &[Message], most: u64) -> (usize, Option<u32>) {
    let is_start = |at: &usize| !matches!(messages[*at], Message::Results { .. });
    let last_answer = (1..messages.len())
        .rev()
        .find(|at| matches!(messages[*at], Message::Model(_)));
    let Some(least) = last_answer else {
        return (messages.len(), None);
    };
    let fits = |at: &usize| bytes_of(&messages[*at..]) <= most;
    if !fits(&least) {
        let parts = messages[least..].iter().map(parts_of).sum::<u64>().max(1);
        let each = (most / parts).clamp(LEAST_BYTES as u64, u64::from(u32::MAX));
        let each = u32::try_from(each).unwrap_or(u32::MAX);
        let cut = messages[least..].iter().map(|m| shorten(m, each as usize));
        // What the model itself said is not cut: where that alone is too much, it goes too.
        if bytes_of(&cut.collect::<Vec<_>>()) > most.saturating_mul(2) {
            return (messages.len(), None);
        }
        return (least, Some(each));
    }
    let start = (1..=least).filter(is_start).find(fits);
    (start.unwrap_or(least), None)
}

/// Results and calls of a message.
fn parts_of(message: &Message) -> u64 {
    match message {
        Message::User { .. } => 0,
        Message::Model(answer) => answer.calls().count() as u64,
        Message::Results { results } => results.len() as u64,
    }
}

fn to_size(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}
