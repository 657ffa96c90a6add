//! What `doctor` says of the machine: sandbox, clock, locale. Pure: what was seen is handed in.

use super::Check;
use crate::surroundings::Surroundings;
use chrono::{DateTime, Utc};
use engine_tools::shell::{Confinement, Hold};

/// The first moment that a clock of today can show, in seconds since 1970: 2026-01-01.
const NOT_BEFORE: i64 = 1_767_225_600;

/// How commands are confined. `modules` is the kernel's list of security modules, where it tells.
pub(super) fn sandbox(held: Confinement, modules: Option<&str>) -> Check {
    let Some(shortfall) = held.shortfall() else {
        return Check::good("sandbox", "files and network of commands are confined");
    };
    let is_off = modules.is_some_and(|all| !all.trim().split(',').any(|one| one == "landlock"));
    let way_out = match held.files {
        Hold::None if is_off => {
            "this kernel starts without Landlock: add `landlock` to the list `lsm=` of its command line"
        }
        Hold::None | Hold::Partial => "Linux 6.2 or newer, with Landlock, confines files fully",
        Hold::Full | Hold::Open => "a kernel with seccomp filters confines the network",
    };
    Check::warning("sandbox", shortfall).hint(format!(
        "{way_out}; until then commands run all the same, and are recorded as ones that may reach outside"
    ))
}

/// The clock, beside the beginning of the newest run.
pub(super) fn clock(now: DateTime<Utc>, newest: Option<DateTime<Utc>>) -> Check {
    let shown = now.format("%Y-%m-%d %H:%M:%S UTC").to_string();
    let hint = "set it, or start the service that does: certificates are judged by it";
    if now.timestamp() < NOT_BEFORE {
        return Check::warning("clock", format!("{shown} is long past")).hint(hint);
    }
    match newest {
        Some(newest) if newest > now => Check::warning(
            "clock",
            format!(
                "{shown} is before the newest run began, {}",
                newest.format("%Y-%m-%d %H:%M:%S")
            ),
        )
        .hint(hint),
        _ => Check::good("clock", shown),
    }
}

/// What the terminal is told to show: everything here is written as UTF-8.
pub(super) fn locale(around: &Surroundings) -> Check {
    let set = ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .find_map(|name| around.text(name).map(|value| (name, value)));
    let hint = "set LANG to a locale of UTF-8, such as C.UTF-8, or marks and names may look wrong";
    match set {
        Some((_, value)) if is_utf8(value) => Check::good("locale", value),
        Some((name, value)) => {
            Check::warning("locale", format!("{name}={value} is not one of UTF-8")).hint(hint)
        }
        None => Check::warning("locale", "none is set").hint(hint),
    }
}

fn is_utf8(locale: &str) -> bool {
    let lower = locale.to_ascii_lowercase();
    lower.contains("utf-8") || lower.contains("utf8")
}

#[cfg(test)]
mod tests {
    use super::super::Verdict;
    use super::*;

    #[test]
    fn a_sandbox_that_lacks_something_says_what_to_do() {
        let check = |files, network, modules, expected: Option<&str>| {
            let found = sandbox(Confinement { files, network }, modules);
            let hint = found.hint.as_deref();
            match expected {
                None => assert_eq!((found.verdict, hint), (Verdict::Good, None)),
                Some(words) => assert!(hint.is_some_and(|hint| hint.contains(words)), "{found:?}"),
            }
        };
        check(Hold::Full, Hold::Full, Some("lockdown,landlock"), None);
        check(
            Hold::None,
            Hold::Full,
            Some("lockdown,yama\n"),
            Some("`lsm=`"),
        );
        check(Hold::None, Hold::Full, Some("landlock"), Some("6.2"));
        check(Hold::None, Hold::Full, None, Some("6.2"));
        check(Hold::Partial, Hold::Full, Some("landlock"), Some("6.2"));
        check(Hold::Full, Hold::None, Some("landlock"), Some("seccomp"));
    }

    #[test]
    fn a_clock_that_cannot_be_right_is_told() {
        let at = |seconds| DateTime::from_timestamp(seconds, 0).expect("an instant");
        let check = |now: i64, newest: Option<i64>, expected| {
            let found = clock(at(now), newest.map(at));
            assert_eq!(found.verdict, expected, "{found:?}");
        };
        check(NOT_BEFORE, None, Verdict::Good);
        check(0, None, Verdict::Warning);
        check(NOT_BEFORE, Some(NOT_BEFORE), Verdict::Good);
        check(NOT_BEFORE, Some(NOT_BEFORE + 60), Verdict::Warning);
    }

    #[test]
    fn the_locale_that_counts_is_the_first_that_is_set() {
        let check = |variables: &[(&str, &str)], expected| {
            let found = locale(&Surroundings::with(variables));
            assert_eq!(found.verdict, expected, "{variables:?}: {found:?}");
        };
        check(&[("LANG", "C.UTF-8")], Verdict::Good);
        check(&[("LANG", "de_DE.utf8")], Verdict::Good);
        check(&[("LANG", "C")], Verdict::Warning);
        check(&[("LANG", "C.UTF-8"), ("LC_ALL", "C")], Verdict::Warning);
        check(&[("LC_ALL", "C.UTF-8"), ("LANG", "C")], Verdict::Good);
        check(&[("LC_ALL", ""), ("LANG", "C.UTF-8")], Verdict::Good);
        check(&[], Verdict::Warning);
    }
}
