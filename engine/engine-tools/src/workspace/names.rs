//! How a path is written in what a model reads and says: as it is, or quoted in git's manner when it
//! would break a line or is not UTF-8. Never touches a file.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::fmt::Write;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

/// Escapes with a letter of their own.
const LETTERS: &[(u8, char)] = &[
    (0x07, 'a'),
    (0x08, 'b'),
    (b'\t', 't'),
    (b'\n', 'n'),
    (0x0B, 'v'),
    (0x0C, 'f'),
    (b'\r', 'r'),
    (b'"', '"'),
    (b'\\', '\\'),
];

/// A path as a model reads it. [`read`] gives the path back.
pub(crate) fn shown(path: &Path) -> String {
    match path.to_str() {
        Some(text) if !text.starts_with('"') && !text.contains(char::is_control) => text.to_owned(),
        _ => quoted(path.as_os_str().as_bytes()),
    }
}

/// The path that a model wrote: a well-formed quoted name is unquoted, all else is taken as it is.
pub(crate) fn read(written: &str) -> Cow<'_, OsStr> {
    match unquote(written) {
        Some((name, "")) => Cow::Owned(name),
        _ => Cow::Borrowed(OsStr::new(written)),
    }
}

fn quoted(bytes: &[u8]) -> String {
    let mut text = String::from("\"");
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            let letter = LETTERS.iter().find(|(byte, _)| char::from(*byte) == c);
            match letter {
                Some((_, letter)) => text.extend(['\\', *letter]),
                None if c.is_control() => {
                    let mut buffer = [0; 4];
                    c.encode_utf8(&mut buffer)
                        .bytes()
                        .for_each(|byte| octal(&mut text, byte));
                }
                None => text.push(c),
            }
        }
        chunk
            .invalid()
            .iter()
            .for_each(|byte| octal(&mut text, *byte));
    }
    text.push('"');
    text
}

fn octal(text: &mut String, byte: u8) {
    // Writing into a text does not fail.
    let _ = write!(text, "\\{byte:03o}");
}

/// A quoted name at the beginning of a text, and what follows it; `None` when there is none.
pub(crate) fn unquote(text: &str) -> Option<(OsString, &str)> {
    let mut rest = text.strip_prefix('"')?;
    let mut name = Vec::new();
    loop {
        let next = rest.find(['"', '\\'])?;
        name.extend_from_slice(&rest.as_bytes()[..next]);
        let is_end = rest.as_bytes()[next] == b'"';
        rest = &rest[next + 1..];
        if is_end {
            return Some((OsString::from_vec(name), rest));
        }
        let escape = rest.chars().next()?;
        if let Some((byte, _)) = LETTERS.iter().find(|(_, letter)| *letter == escape) {
            name.push(*byte);
            rest = &rest[1..];
        } else {
            let digits = rest.get(..3)?;
            if !digits.bytes().all(|digit| (b'0'..=b'7').contains(&digit)) {
                return None;
            }
            name.push(u8::from_str_radix(digits, 8).ok()?);
            rest = &rest[3..];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn odd_names_are_quoted_as_git_does_and_others_left_alone() {
        let check = |name: &[u8], expected: &str| {
            let path = Path::new(OsStr::from_bytes(name));
            assert_eq!(shown(path), expected);
            assert_eq!(read(expected), path.as_os_str());
        };
        check(b"src/lib.rs", "src/lib.rs");
        check(b"with space.txt", "with space.txt");
        check("ünïcödé.md".as_bytes(), "ünïcödé.md");
        check(b"quote\"s", "quote\"s");
        check(b"back\\slash", "back\\slash");
        check(b"-rf", "-rf");
        check(b"a;b$(touch pwned)`id`", "a;b$(touch pwned)`id`");
        check(b"\"q\"", r#""\"q\"""#);
        check(b"new\nline", r#""new\nline""#);
        check(b"tab\there", r#""tab\there""#);
        check(b"bad\xFFutf8", r#""bad\377utf8""#);
        check(b"\x1B[31m\\", r#""\033[31m\\""#);
        check("\u{85}".as_bytes(), r#""\302\205""#);
    }

    #[test]
    fn what_is_no_quoted_name_is_taken_as_it_is() {
        for written in [
            "\"",
            "\"a",
            "a\"",
            "\"a\"b\"",
            "\"\\z\"",
            "\"\\9\"",
            "\"\\400\"",
        ] {
            assert_eq!(read(written), OsStr::new(written));
        }
        assert_eq!(read("\"a\\303\\274\""), OsStr::new("aü"));
    }

    proptest! {
        #[test]
        fn every_name_comes_back(name in proptest::collection::vec(1u8.., 1..20)) {
            let path = Path::new(OsStr::from_bytes(&name));
            let written = shown(path);
            let back = read(&written);
            prop_assert_eq!(back.as_bytes(), &name[..]);
            prop_assert!(!written.contains(char::is_control));
        }
    }
}
