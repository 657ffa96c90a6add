//! The tool by which a reviewer ends its attempt. Never judges findings: any that are not blank count.

use crate::record::Verdict;
use crate::tool::{EffectClass, ToolSpec};
use serde::Deserialize;

/// Name of the tool.
pub const VERDICT_TOOL: &str = "verdict";

/// The tool as it stands in a reviewer's catalog.
#[must_use]
pub fn verdict_tool() -> ToolSpec {
    ToolSpec {
        name: VERDICT_TOOL.to_owned(),
        description: "Ends the review. Approve only when the work may land as it is; otherwise \
                      reject and name each needed change with its file and line."
            .to_owned(),
        parameters: r#"{"type":"object","properties":{"verdict":{"type":"string","enum":["approve","reject"]},"findings":{"type":"string","minLength":1,"description":"What must change, or why it is good."}},"required":["verdict","findings"],"additionalProperties":false}"#
            .to_owned(),
        effect: EffectClass::Reads,
    }
}

/// A verdict with its findings.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// What must change, or why it is good. Not blank.
    pub findings: String,
}

/// Why arguments are no verdict.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoJudgement {
    /// They do not have its shape.
    #[error("not a verdict: {0}")]
    Shape(String),
    /// It gives no reason.
    #[error("not a verdict: `findings` is blank")]
    NoFindings,
}

/// Reads the arguments of a call of [`VERDICT_TOOL`].
///
/// # Errors
/// When they do not have its shape, or the findings are blank.
pub fn read_verdict(arguments: &str) -> Result<Judgement, NoJudgement> {
    let judgement: Judgement =
        serde_json::from_str(arguments).map_err(|error| NoJudgement::Shape(error.to_string()))?;
    if judgement.findings.trim().is_empty() {
        return Err(NoJudgement::NoFindings);
    }
    Ok(judgement)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_verdict_with_findings_is_one() {
        let check = |arguments: &str, expected: Result<Verdict, &str>| {
            let found = read_verdict(arguments);
            let found = found.map(|j| j.verdict).map_err(|e| e.to_string());
            assert_eq!(found, expected.map_err(str::to_owned), "{arguments}");
        };
        check(
            r#"{"verdict":"approve","findings":"good"}"#,
            Ok(Verdict::Approve),
        );
        check(
            r#"{"findings":"a.rs:1","verdict":"reject"}"#,
            Ok(Verdict::Reject),
        );
        check(
            r#"{"verdict":"approve","findings":" \n"}"#,
            Err("not a verdict: `findings` is blank"),
        );
        check(
            r#"{"verdict":"maybe","findings":"x"}"#,
            Err(
                "not a verdict: unknown variant `maybe`, expected `approve` or `reject` at line 1 column 18",
            ),
        );
        check(
            r#"{"verdict":"approve"}"#,
            Err("not a verdict: missing field `findings` at line 1 column 21"),
        );
        check(
            r#"{"verdict":"approve","findings":"x","more":1}"#,
            Err(
                "not a verdict: unknown field `more`, expected `verdict` or `findings` at line 1 column 42",
            ),
        );
    }

    #[test]
    fn its_schema_is_json() {
        let schema: serde_json::Value = serde_json::from_str(&verdict_tool().parameters).unwrap();
        assert_eq!(schema["type"], "object");
    }
}
