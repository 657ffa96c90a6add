//! In what the servers of this wire differ, as data. Never names a server: `providers` does.

/// How one server wants its requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Dialect {
    /// What it calls the output limit.
    pub limit: LimitField,
    /// How it is made to report usage.
    pub usage: UsageReport,
    /// Whether it wants the model's reasoning back.
    pub reasoning: ReasoningBack,
    /// Whether it is told how hard a model should think.
    pub effort: EffortField,
}

/// The request's field for the output limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LimitField {
    /// `max_tokens`: the older name, which nearly all know.
    #[default]
    MaxTokens,
    /// `max_completion_tokens`: the only one that reasoning models of OpenAI take.
    MaxCompletionTokens,
}

impl LimitField {
    /// The field's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::MaxTokens => "max_tokens",
            Self::MaxCompletionTokens => "max_completion_tokens",
        }
    }
}

/// How a server is made to report usage in a stream.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum UsageReport {
    /// It must be asked with `stream_options.include_usage`.
    #[default]
    Asked,
    /// It does so by itself, and refuses to be asked.
    Unasked,
}

/// Whether earlier reasoning goes back to the server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ReasoningBack {
    /// Never.
    #[default]
    Never,
    /// As `reasoning_content` beside the calls it led to; the server refuses a request without it.
    WithCalls,
}

/// The request's field for how hard a model should think.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum EffortField {
    /// `reasoning_effort`.
    #[default]
    ReasoningEffort,
    /// None with these words: a role that asks for it is refused.
    Unknown,
}
