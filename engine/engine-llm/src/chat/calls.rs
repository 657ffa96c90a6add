//! Puts the pieces of tool calls together, whatever a server does with their ids and indexes.
//! Never makes an id unique: the turn machine does, which knows the whole attempt.

use super::chunk::Piece;
use crate::arguments::{arguments, parse_object};
use engine_core::ids::CallId;
use engine_core::message::ToolCall;

/// The calls of an answer that is still coming.
#[derive(Debug, Default)]
pub(super) struct Calls {
    drafts: Vec<Draft>,
}

#[derive(Debug, Default)]
struct Draft {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
}

/// What a piece led to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Placed {
    /// It continued a call.
    Continued,
    /// It opened the call with this position.
    Opened(usize),
}

/// Where a piece was found to belong.
struct Match {
    position: usize,
    by_id: bool,
}

impl Calls {
    /// Takes the next piece.
    ///
    /// A known id wins over the index; a new id opens a call even when its index is taken; a piece
    /// without id and without a known index belongs to the call that is open now. A piece that
    /// names a function again where a whole call already stands opens another: that is how doubled
    /// and empty ids show.
    pub(super) fn take(&mut self, piece: &Piece<'_>) -> Result<Placed, serde_json::Error> {
        let arguments = arguments_text(piece)?;
        let found = self
            .find(piece)
            .filter(|found| self.drafts[found.position].goes_on_with(piece, &arguments, found));
        let (position, placed) = match found {
            Some(found) => (found.position, Placed::Continued),
            None => {
                self.drafts.push(Draft::default());
                let position = self.drafts.len() - 1;
                (position, Placed::Opened(position))
            }
        };
        self.drafts[position].add(piece, &arguments);
        Ok(placed)
    }

    fn find(&self, piece: &Piece<'_>) -> Option<Match> {
        let last = |is_it: &dyn Fn(&Draft) -> bool| self.drafts.iter().rposition(is_it);
        if let Some(id) = id_of(piece) {
            if let Some(position) = last(&|draft| draft.id == id) {
                return Some(Match {
                    position,
                    by_id: true,
                });
            }
            if name_of(piece).is_some() {
                return None;
            }
            let position =
                last(&|draft| draft.index == piece.index && draft.may_be_renamed(piece))?;
            return Some(Match {
                position,
                by_id: false,
            });
        }
        let by_index = piece
            .index
            .and_then(|index| last(&|draft| draft.index == Some(index)));
        let open = self.drafts.len().checked_sub(1);
        by_index.or(open).map(|position| Match {
            position,
            by_id: false,
        })
    }

    /// The name of a call as far as it is known.
    pub(super) fn name(&self, position: usize) -> &str {
        &self.drafts[position].name
    }

    /// The finished call with this position; `None` for one that never had a name nor arguments.
    pub(super) fn finish(&mut self, position: usize) -> Option<ToolCall> {
        let draft = std::mem::take(&mut self.drafts[position]);
        if draft.name.is_empty() && draft.arguments.is_empty() {
            return None;
        }
        Some(ToolCall {
            id: CallId(draft.id),
            name: draft.name,
            arguments: arguments(draft.arguments),
        })
    }
}

impl Draft {
    fn goes_on_with(&self, piece: &Piece<'_>, arguments: &str, found: &Match) -> bool {
        if name_of(piece).is_none() || self.name.is_empty() {
            return true;
        }
        let other_index = match (self.index, piece.index) {
            (Some(mine), Some(its)) => mine != its,
            _ => false,
        };
        if other_index {
            return found.by_id && !(self.arguments.is_empty() || self.is_whole());
        }
        let other_name = name_of(piece) != Some(self.name.as_str());
        let another = self.is_whole() && !arguments.trim().is_empty();
        !other_name && !another
    }

    /// Whether a nameless piece with a new id can still be a piece of this call: some servers tell
    /// the id only after they have opened the call, some make up another for every piece.
    fn may_be_renamed(&self, piece: &Piece<'_>) -> bool {
        let carries_arguments = piece
            .function
            .as_ref()
            .is_some_and(|f| f.arguments.is_some());
        self.id.is_empty() || (self.index.is_some() && carries_arguments && !self.is_whole())
    }

    /// True when its arguments are already a JSON object.
    fn is_whole(&self) -> bool {
        self.arguments.trim_end().ends_with('}') && parse_object(&self.arguments).is_ok()
    }

    fn add(&mut self, piece: &Piece<'_>, arguments: &str) {
        self.index = self.index.or(piece.index);
        if let (true, Some(id)) = (self.id.is_empty(), id_of(piece)) {
            id.clone_into(&mut self.id);
        }
        if let (true, Some(name)) = (self.name.is_empty(), name_of(piece)) {
            name.clone_into(&mut self.name);
        }
        self.arguments.push_str(arguments);
    }
}

fn id_of<'a>(piece: &'a Piece<'_>) -> Option<&'a str> {
    piece.id.as_deref().filter(|id| !id.is_empty())
}

fn name_of<'a>(piece: &'a Piece<'_>) -> Option<&'a str> {
    let name = piece.function.as_ref()?.name.as_deref()?;
    (!name.is_empty()).then_some(name)
}

/// The argument text of a piece: the text it carries, or the text of the object it carries.
fn arguments_text(piece: &Piece<'_>) -> Result<String, serde_json::Error> {
    let raw = piece.function.as_ref().and_then(|f| f.arguments);
    match raw.map(serde_json::value::RawValue::get) {
        None => Ok(String::new()),
        Some(text) if text.starts_with('"') => serde_json::from_str(text),
        Some(value) => Ok(value.to_owned()),
    }
}
