//! Replies by what a request is about: a marker in its texts, and the turn it asks for.

use super::reply::Reply;
use super::request::RequestView;

/// A list of replies. Requests find theirs whatever their order of arrival.
#[derive(Debug, Default)]
pub struct Script {
    turns: Vec<Turn>,
}

#[derive(Debug)]
struct Turn {
    marker: String,
    turn: usize,
    reply: Reply,
}

impl Script {
    /// An empty script.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Answers turn `turn` (from 1) of every conversation whose instructions or person's messages
    /// hold `marker`. The first that fits is taken, so the more special marker goes first.
    #[must_use]
    pub fn turn(mut self, marker: &str, turn: usize, reply: Reply) -> Self {
        let marker = marker.to_owned();
        self.turns.push(Turn {
            marker,
            turn,
            reply,
        });
        self
    }

    /// The reply that fits a request.
    #[must_use]
    pub fn reply(&self, request: &RequestView) -> Reply {
        let asked = request.turn();
        let fits = |turn: &&Turn| turn.turn == asked && request.mentions(&turn.marker);
        match self.turns.iter().find(fits) {
            Some(turn) => turn.reply.clone(),
            None => {
                let told = request.texts("user").join(" | ");
                Reply::refusal(400, &format!("no reply for turn {asked} of `{told}`"))
            }
        }
    }
}
