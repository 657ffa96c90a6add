//! `todo`: an agent's own list of what it has to do. It lives in the conversation alone: each call gives
//! the whole list, and nothing else keeps it. Never starts or checks what it names.

use serde::Deserialize;
use std::fmt::Write;

pub(crate) const DESCRIPTION: &str = "Keep a list of what you have to do, for yourself and for the \
people who watch. Give the whole list each time; at most one item is `doing`. Useful from three steps \
on. Example: {\"items\":[{\"text\":\"Find the parser\",\"state\":\"done\"},\
{\"text\":\"Fix it\",\"state\":\"doing\"},{\"text\":\"Run the tests\",\"state\":\"open\"}]}";

pub(crate) const PARAMETERS: &str = r#"{
  "type": "object",
  "properties": {
    "items": {
      "type": "array",
      "maxItems": 50,
      "items": {
        "type": "object",
        "properties": {
          "text": {"type": "string", "minLength": 1, "description": "What is to be done, in one line"},
          "state": {"type": "string", "enum": ["open", "doing", "done"]}
        },
        "required": ["text", "state"],
        "additionalProperties": false
      }
    }
  },
  "required": ["items"],
  "additionalProperties": false
}"#;

/// Most items of a list.
const ITEMS_MAX: usize = 50;

/// Most bytes of an item.
const ITEM_MAX_BYTES: usize = 300;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    items: Vec<Item>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Item {
    text: String,
    state: State,
}

/// How far an item is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum State {
    Open,
    Doing,
    Done,
}

impl State {
    fn mark(self) -> char {
        match self {
            Self::Open => ' ',
            Self::Doing => '>',
            Self::Done => 'x',
        }
    }
}

/// Why a list is not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TodoError {
    #[error("the list has {0} items, more than the {ITEMS_MAX} that are kept; join some of them")]
    TooMany(usize),
    #[error("item {0} is blank")]
    Blank(usize),
    #[error("item {number} has {bytes} bytes, more than {ITEM_MAX_BYTES}; say it shorter")]
    TooLong { number: usize, bytes: usize },
    #[error("{0} items are `doing`; do one after the other")]
    SeveralAtOnce(usize),
}

impl Args {
    fn count(&self, state: State) -> usize {
        self.items.iter().filter(|item| item.state == state).count()
    }

    /// How far the list is, and what is being done.
    pub(crate) fn gist(&self) -> String {
        let mut text = format!("{} of {} done", self.count(State::Done), self.items.len());
        let doing = self.items.iter().find(|item| item.state == State::Doing);
        if let Some(item) = doing {
            // Writing into a text does not fail.
            let _ = write!(text, "; now: {}", item.text);
        }
        text
    }

    fn check(&self) -> Result<(), TodoError> {
        if self.items.len() > ITEMS_MAX {
            return Err(TodoError::TooMany(self.items.len()));
        }
        for (index, item) in self.items.iter().enumerate() {
            let number = index + 1;
            let bytes = item.text.len();
            if item.text.trim().is_empty() {
                return Err(TodoError::Blank(number));
            }
            if bytes > ITEM_MAX_BYTES {
                return Err(TodoError::TooLong { number, bytes });
            }
        }
        match self.count(State::Doing) {
            0 | 1 => Ok(()),
            several => Err(TodoError::SeveralAtOnce(several)),
        }
    }
}

/// The list as it now is, a line for each item.
pub(crate) fn run(args: &Args) -> Result<String, TodoError> {
    args.check()?;
    if args.items.is_empty() {
        return Ok("the list is empty".to_owned());
    }
    let mut text = String::new();
    for item in &args.items {
        let line = item.text.split_whitespace().collect::<Vec<_>>().join(" ");
        let _ = writeln!(text, "[{}] {line}", item.state.mark());
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn args(items: &Value) -> Args {
        serde_json::from_value(json!({ "items": items })).unwrap()
    }

    #[test]
    fn a_list_is_shown_as_it_is_and_summed_up_in_a_line() {
        let args = args(&json!([
            {"text": "Find\nit", "state": "done"},
            {"text": "Fix it", "state": "doing"},
            {"text": "Prove it", "state": "open"},
        ]));
        assert_eq!(
            run(&args).unwrap(),
            "[x] Find it\n[>] Fix it\n[ ] Prove it\n"
        );
        assert_eq!(args.gist(), "1 of 3 done; now: Fix it");
    }

    #[test]
    fn a_list_that_is_none_says_why() {
        let check = |items: Value, expected: Result<&str, &str>| {
            let told = run(&args(&items)).map_err(|error| error.to_string());
            assert_eq!(told, expected.map(str::to_owned).map_err(str::to_owned));
        };
        let item = |text: &str, state: &str| json!({"text": text, "state": state});
        check(json!([]), Ok("the list is empty"));
        check(json!([item(" \n", "open")]), Err("item 1 is blank"));
        check(
            json!([item("a", "doing"), item("b", "doing")]),
            Err("2 items are `doing`; do one after the other"),
        );
        check(
            json!([item("a", "open"), item(&"b".repeat(301), "open")]),
            Err("item 2 has 301 bytes, more than 300; say it shorter"),
        );
        check(
            Value::from(vec![item("a", "open"); 51]),
            Err("the list has 51 items, more than the 50 that are kept; join some of them"),
        );
    }
}
