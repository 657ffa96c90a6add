//! *Did you mean*: the name somebody probably wanted to write. Never guesses far.

/// Longest word that is compared, in bytes: comparing costs the product of both lengths.
const WORD_MAX_BYTES: usize = 64;

/// The candidate nearest to `word`, when it is near enough to be a slip of the fingers. Of two equally
/// near ones the first wins.
pub(crate) fn nearest<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    if word.is_empty() || word.len() > WORD_MAX_BYTES {
        return None;
    }
    let word = folded(word);
    let allowed = (word.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .map(|candidate| {
            let distance = strsim::damerau_levenshtein(&word, &folded(candidate));
            (distance, candidate)
        })
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Case and the two ways of joining words do not count.
fn folded(word: &str) -> String {
    word.to_lowercase().replace('_', "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(word: &str, candidates: &[&str], expected: Option<&str>) {
        assert_eq!(
            nearest(word, candidates.iter().copied()),
            expected,
            "{word}"
        );
    }

    #[test]
    fn slips_are_found_and_other_words_are_not() {
        check("modle", &["access", "model"], Some("model"));
        check("wrte", &["read", "write"], Some("write"));
        check("roles", &["role", "task"], Some("role"));
        check("Scout", &["scout"], Some("scout"));
        check("base-url", &["base_url"], Some("base_url"));
        check("survey", &["tests"], None);
        check("x", &["yz"], None);
        check("", &["a"], None);
        check(&"m".repeat(65), &["m"], None);
    }

    #[test]
    fn of_two_equally_near_ones_the_first_wins() {
        check("bx", &["ba", "bb"], Some("ba"));
    }
}
