//! Rosters and user configurations: any text is taken, or refused with places inside it.

use crate::spell::spelled;
use roster::{Diagnostic, InsecureHttp, Source, Surroundings, load, parse_user_config, render};

const WORDS: [&str; 48] = [
    "\n",
    "\r\n",
    "[",
    "]",
    "[[",
    "]]",
    "{ ",
    " }",
    " = ",
    "\"",
    "\"\"\"",
    "'",
    ",",
    ".",
    "#",
    " ",
    "\u{feff}",
    "\0",
    "\\",
    "é",
    "🐋",
    "${",
    "~",
    "-1",
    "0x",
    "1e9",
    "true",
    "[[task]]\n",
    "id = \"a\"\n",
    "id = \"b\"\n",
    "prompt = \"p\"\n",
    "role = \"builder\"\n",
    "needs = [\"a\"]\n",
    "check = [\"true\"]\n",
    "review = \"reviewer\"\n",
    "budget = { tokens = 1_000 }\n",
    "timeout = \"30m\"\n",
    "name = \"x\"\n",
    "model = \"p/m\"\n",
    "[limits]\n",
    "agents = 2\n",
    "wall = \"1h\"\n",
    "[provider.p]\nkind = \"openai\"\n",
    "base_url = \"https://h/v1\"\n",
    "[role.builder]\n",
    "access = \"write\"\n",
    "tools = [\"read\"]\n",
    "[workspace]\n",
];

/// Reads the text as a roster and as a user's configuration.
///
/// # Panics
/// When it is refused without a reason, a place lies outside of the text, or what is shown of it could move a
/// terminal's cursor.
pub(crate) fn check(bytes: &[u8]) {
    let spelled = spelled(bytes, &WORDS);
    let Ok(text) = std::str::from_utf8(&spelled) else {
        return;
    };
    let env = |_: &str| None;
    let around = Surroundings {
        dir: "/rosters",
        repo: Some("/repo"),
        home: None,
        env: &env,
        user_config: None,
        known_providers: &[],
        known_tools: &[],
        insecure_http: InsecureHttp::Refused,
    };
    match load(text, &around) {
        Ok(roster) => check_places(text, roster.warnings()),
        Err(found) => {
            assert!(!found.is_empty(), "refused without a reason: {text:?}");
            check_places(text, &found);
        }
    }
    if let Err(found) = parse_user_config(text, &around) {
        assert!(!found.is_empty(), "refused without a reason: {text:?}");
        check_places(text, &found);
    }
}

fn check_places(text: &str, found: &[Diagnostic]) {
    for one in found {
        let related = one.related.iter().map(|related| &related.span);
        for span in related.chain([&one.span]) {
            assert!(text.get(span.start..span.end).is_some(), "{one:?}");
        }
    }
    let source = Source { name: "t", text };
    let shown = render::to_text(&source, found);
    let unsafe_char = shown.chars().find(|c| c.is_control() && *c != '\n');
    assert_eq!(unsafe_char, None, "{shown:?}");
}
