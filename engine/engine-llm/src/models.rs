//! What is known of models: how much fits into them. Never asks a provider.

use engine_core::ids::Tokens;
use engine_core::provider::ModelLimits;

/// What is known of the models of one provider whose names begin alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownModel {
    /// The beginning of their names.
    pub prefix: &'static str,
    /// Most tokens of a request and its answer together; 0: unknown.
    pub context: u64,
    /// Most tokens of one answer; 0: unknown.
    pub output: u64,
}

/// The models of one provider.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Models {
    /// What was said of all of them.
    pub(crate) said: ModelLimits,
    /// What is known of some.
    pub(crate) known: &'static [KnownModel],
}

impl Models {
    /// What fits into a model: as it was said, else as it is known by the longest beginning of its
    /// name.
    pub(crate) fn limits(&self, model: &str) -> ModelLimits {
        let known = self
            .known
            .iter()
            .filter(|known| model.starts_with(known.prefix))
            .max_by_key(|known| known.prefix.len());
        self.said.or(known.map(limits_of).unwrap_or_default())
    }
}

fn limits_of(known: &KnownModel) -> ModelLimits {
    let told = |tokens: u64| (tokens > 0).then_some(Tokens(tokens));
    ModelLimits {
        context: told(known.context),
        output: told(known.output),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_name_decides_and_what_was_said_wins() {
        const KNOWN: &[KnownModel] = &[
            KnownModel {
                prefix: "big",
                context: 1_000,
                output: 100,
            },
            KnownModel {
                prefix: "big-mini",
                context: 500,
                output: 0,
            },
        ];
        let check = |said: ModelLimits, model: &str, expected: (Option<u64>, Option<u64>)| {
            let found = Models { said, known: KNOWN }.limits(model);
            let found = (found.context.map(|t| t.0), found.output.map(|t| t.0));
            assert_eq!(found, expected, "{model}");
        };
        let nothing = ModelLimits::default();
        check(nothing, "big-2026", (Some(1_000), Some(100)));
        check(nothing, "big-mini", (Some(500), None));
        check(nothing, "other", (None, None));
        let said = ModelLimits {
            context: Some(Tokens(64)),
            output: None,
        };
        check(said, "big-2026", (Some(64), Some(100)));
        check(said, "other", (Some(64), None));
    }
}
