//! How the models of this wire are told how hard to think. Their newest take a word, older ones a
//! number of tokens, the oldest neither. Never asks a provider.

use engine_core::ids::Tokens;
use engine_core::request::Effort;

/// How a model is told how hard to think.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EffortStyle {
    /// By a word: `output_config.effort`, with thinking as the model sees fit.
    Word,
    /// By a number of tokens: `thinking.budget_tokens`, a part of the output limit.
    Budget,
    /// Not at all: it does not think.
    Never,
}

/// Beginnings of names; the longest that fits decides. A name that is not here is of another maker,
/// whose servers know the older form.
const STYLES: &[(&str, EffortStyle)] = &[
    ("claude-", EffortStyle::Word),
    ("claude-2", EffortStyle::Never),
    ("claude-instant", EffortStyle::Never),
    ("claude-3", EffortStyle::Never),
    ("claude-3-7", EffortStyle::Budget),
    ("claude-haiku-4", EffortStyle::Budget),
    ("claude-sonnet-4", EffortStyle::Budget),
    ("claude-sonnet-4-6", EffortStyle::Word),
    ("claude-opus-4", EffortStyle::Budget),
    ("claude-opus-4-6", EffortStyle::Word),
    ("claude-opus-4-7", EffortStyle::Word),
    ("claude-opus-4-8", EffortStyle::Word),
];

/// The fewest tokens of thinking that this wire takes.
const LEAST: u64 = 1_024;

/// How this model is told.
#[must_use]
pub fn style_of(model: &str) -> EffortStyle {
    // Gateways put the maker before the name.
    let name = model.rsplit('/').next().unwrap_or(model);
    STYLES
        .iter()
        .filter(|(prefix, _)| name.starts_with(prefix))
        .max_by_key(|(prefix, _)| prefix.len())
        .map_or(EffortStyle::Budget, |(_, style)| *style)
}

/// The word for an effort.
pub(super) fn word(effort: Effort) -> &'static str {
    match effort {
        Effort::Low => "low",
        Effort::Medium => "medium",
        Effort::High => "high",
    }
}

/// The tokens of an answer that may go into thinking: an eighth, a quarter or a half of them. `None`:
/// too few would be left for the answer.
pub(super) fn budget(effort: Effort, limit: Tokens) -> Option<Tokens> {
    let share = match effort {
        Effort::Low => limit.0 / 8,
        Effort::Medium => limit.0 / 4,
        Effort::High => limit.0 / 2,
    };
    (limit.0 >= 2 * LEAST).then_some(Tokens(share.max(LEAST)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_model_tells_how_it_is_told() {
        for (model, expected) in [
            ("claude-opus-5-5", EffortStyle::Word),
            ("claude-sonnet-4-6", EffortStyle::Word),
            ("anthropic/claude-opus-4-7", EffortStyle::Word),
            ("claude-sonnet-4-5-20250929", EffortStyle::Budget),
            ("claude-opus-4-20250514", EffortStyle::Budget),
            ("claude-3-7-sonnet-latest", EffortStyle::Budget),
            ("claude-3-5-haiku-latest", EffortStyle::Never),
            ("qwen3", EffortStyle::Budget),
        ] {
            assert_eq!(style_of(model), expected, "{model}");
        }
    }

    #[test]
    fn thinking_is_a_part_of_the_limit_and_never_all_of_it() {
        let check = |effort, limit, expected: Option<u64>| {
            assert_eq!(budget(effort, Tokens(limit)).map(|t| t.0), expected);
        };
        check(Effort::Low, 8_192, Some(1_024));
        check(Effort::Medium, 8_192, Some(2_048));
        check(Effort::High, 8_192, Some(4_096));
        check(Effort::Low, 2_048, Some(1_024));
        check(Effort::High, 2_047, None);
    }
}
