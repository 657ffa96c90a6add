//! Places that break a rule, and how they are told. Never decides what a rule is.

use std::fmt::Write as _;

/// One place that breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// The file, relative to the root, with `/`.
    pub file: String,
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong there, without the place.
    pub what: String,
}

/// A file that a rule does not hold for, and why.
#[derive(Debug, Clone, Copy)]
pub struct Exception {
    /// The file, relative to the root, with `/`.
    pub file: &'static str,
    /// Why the rule cannot hold there.
    pub reason: &'static str,
}

/// What a broken rule says: every place, then the remedy. `None` when nothing is broken.
#[must_use]
pub fn complaint(mut findings: Vec<Finding>, remedy: &str) -> Option<String> {
    if findings.is_empty() {
        return None;
    }
    findings.sort();
    let mut text = String::from("\n");
    for Finding { file, line, what } in &findings {
        writeln!(text, "  {file}:{line}: {what}").expect("writing to a String cannot fail");
    }
    write!(text, "{} in all. Remedy: {remedy}", findings.len())
        .expect("writing to a String cannot fail");
    Some(text)
}

/// Findings outside the excepted files, and a finding for each exception that nothing needs any more.
#[must_use]
pub fn except(findings: Vec<Finding>, exceptions: &[Exception]) -> Vec<Finding> {
    let stale = exceptions
        .iter()
        .filter(|exception| findings.iter().all(|f| f.file != exception.file))
        .map(|exception| Finding {
            file: exception.file.to_owned(),
            line: 1,
            what: format!("excepted (\"{}\") without need", exception.reason),
        });
    let mut left: Vec<Finding> = stale.collect();
    left.extend(
        findings
            .into_iter()
            .filter(|f| exceptions.iter().all(|exception| exception.file != f.file)),
    );
    left
}

#[cfg(test)]
mod tests {
    use super::{Exception, Finding, complaint, except};

    fn finding(file: &str, line: usize) -> Finding {
        Finding {
            file: file.to_owned(),
            line,
            what: "is wrong".to_owned(),
        }
    }

    #[test]
    fn a_complaint_names_each_place_in_order_and_the_remedy() {
        let text = complaint(vec![finding("b.rs", 2), finding("a.rs", 9)], "mend it");
        let expected = "\n  a.rs:9: is wrong\n  b.rs:2: is wrong\n2 in all. Remedy: mend it";
        assert_eq!(text.as_deref(), Some(expected));
        assert_eq!(complaint(Vec::new(), "mend it"), None);
    }

    #[test]
    fn an_exception_covers_its_file_only_and_must_be_needed() {
        let excepted = Exception {
            file: "a.rs",
            reason: "it is the clock",
        };
        let left = except(vec![finding("a.rs", 1), finding("b.rs", 2)], &[excepted]);
        assert_eq!(left, [finding("b.rs", 2)]);

        let stale = except(Vec::new(), &[excepted]);
        assert_eq!(stale[0].what, "excepted (\"it is the clock\") without need");
    }
}
