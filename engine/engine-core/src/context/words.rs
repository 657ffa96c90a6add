//! What is said to a model about its own conversation having been made smaller. Never speaks to a
//! person.

/// Asks for a summary.
pub(crate) const WANTS_SUMMARY: &str = "This conversation is about to outgrow what you can take in. \
    Do not call a tool now. Write a summary from which you alone can go on with the task: what you \
    found, with files and lines; what you decided and why; what you changed; what did not work; what \
    is left to do. Your task and what you were told are kept word for word beside it, and files can be \
    read again. At most 600 words.";

/// Comes before a summary.
pub(super) const SUMMARY_FOLLOWS: &str = "Your work on this so far was summarised to make room. The \
    workspace is as you left it. The summary:";

/// Comes before what was said in messages that are gone.
pub(super) const TOLD_FOLLOWS: &str = "In the meantime you were told:";
