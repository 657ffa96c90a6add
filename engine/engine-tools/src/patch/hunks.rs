//! Reads the lines of hunks, which are alike in both forms of a patch. Never looks at a file's name.

use super::lines::End;
use super::{HunkLine, ParseFault, Sign, Source};

/// What stands at the end of a mail that git made of a commit.
const SIGNATURE: &str = "-- ";

/// How many lines a hunk says it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) old: usize,
    pub(super) new: usize,
}

/// The lines of a hunk from `from` on, and where they end. Counts that fit the lines are kept to;
/// others are passed over, and the hunk goes on for as long as its lines look like its own.
pub(super) fn body(
    source: &Source<'_>,
    from: usize,
    counts: Option<Counts>,
) -> Result<(Vec<HunkLine>, usize), ParseFault> {
    let counted = counts.and_then(|counts| counted_end(source, from, counts));
    let end = counted.unwrap_or_else(|| apparent_end(source, from));
    let mut read = Vec::with_capacity(end - from);
    for index in from..end {
        let raw = source.at(index);
        if raw.starts_with('\\') {
            without_end(&mut read, index)?;
        } else {
            read.push(hunk_line(raw));
        }
    }
    if read.is_empty() {
        return Err(ParseFault {
            line: from,
            what: "the hunk has no lines; each begins with a blank, `-` or `+`".to_owned(),
        });
    }
    match counted {
        Some(_) => Ok((read, end)),
        None => follows(source, end).map(|()| (read, end)),
    }
}

/// A line with its sign. One without any characters is a blank line that lost its sign.
pub(super) fn hunk_line(raw: &str) -> HunkLine {
    let (sign, rest) = match raw.as_bytes().first() {
        Some(b'+') => (Sign::Add, &raw[1..]),
        Some(b'-') => (Sign::Remove, &raw[1..]),
        Some(b' ') => (Sign::Keep, &raw[1..]),
        _ => (Sign::Keep, raw),
    };
    let (text, end) = match rest.strip_suffix('\r') {
        Some(text) => (text, End::CrLf),
        None => (rest, End::Lf),
    };
    HunkLine {
        sign,
        text: text.to_owned(),
        end,
    }
}

/// The note that the line before has no end.
fn without_end(read: &mut [HunkLine], index: usize) -> Result<(), ParseFault> {
    let Some(line) = read.last_mut() else {
        return Err(ParseFault {
            line: index + 1,
            what: "this note belongs after the line that has no end".to_owned(),
        });
    };
    if line.end == End::CrLf {
        // Without a LF after it, the CR is a character of the line.
        line.text.push('\r');
    }
    line.end = End::None;
    Ok(())
}

/// Where the hunk ends when its counts hold; `None` when they do not.
fn counted_end(source: &Source<'_>, from: usize, counts: Counts) -> Option<usize> {
    let Counts { mut old, mut new } = counts;
    let mut index = from;
    while old > 0 || new > 0 {
        let raw = source.lines.get(index)?;
        match raw.as_bytes().first() {
            Some(b'+') => new = new.checked_sub(1)?,
            Some(b'-') => old = old.checked_sub(1)?,
            None | Some(b' ' | b'\r') => {
                old = old.checked_sub(1)?;
                new = new.checked_sub(1)?;
            }
            Some(b'\\') => {}
            Some(_) => return None,
        }
        index += 1;
    }
    while source.at(index).starts_with('\\') {
        index += 1;
    }
    let mut next = index;
    while next < source.lines.len() && source.at(next).trim_end_matches('\r').is_empty() {
        next += 1;
    }
    (!belongs(source, next)).then_some(index)
}

/// Where the hunk ends by the look of its lines. Blank lines before the end are not counted in.
fn apparent_end(source: &Source<'_>, from: usize) -> usize {
    let mut index = from;
    while belongs(source, index) {
        index += 1;
    }
    while index > from && source.at(index - 1).trim_end_matches('\r').is_empty() {
        index -= 1;
    }
    index
}

/// What may come after a hunk whose lines were not counted. Anything else may be a line of it that
/// lost its sign.
fn follows(source: &Source<'_>, end: usize) -> Result<(), ParseFault> {
    const HEADS: &[&str] = &[
        "diff ", "--- ", "@@", "*** ", "```", "Index: ", "=====", "From ", "-- ",
    ];
    let rest = source.lines.iter().enumerate().skip(end);
    let next = rest.into_iter().find(|(_, line)| !line.trim().is_empty());
    match next {
        Some((index, line)) if !HEADS.iter().any(|head| line.starts_with(head)) => {
            Err(ParseFault {
                line: index + 1,
                what: "a line without sign stands in a hunk; each begins with a blank, `-` or `+`"
                    .to_owned(),
            })
        }
        _ => Ok(()),
    }
}

/// Whether a line looks like one of a hunk.
fn belongs(source: &Source<'_>, index: usize) -> bool {
    let Some(raw) = source.lines.get(index) else {
        return false;
    };
    let looks = matches!(
        raw.as_bytes().first(),
        None | Some(b' ' | b'+' | b'-' | b'\\' | b'\r')
    );
    looks && !begins_file(source, index) && !is_signature(source, index)
}

/// True for the `---` line of a file's header: a `+++` line and a hunk follow it.
pub(super) fn begins_file(source: &Source<'_>, index: usize) -> bool {
    source.at(index).starts_with("--- ")
        && source.at(index + 1).starts_with("+++ ")
        && (source.at(index + 2).starts_with("@@") || index + 2 >= source.lines.len())
}

fn is_signature(source: &Source<'_>, index: usize) -> bool {
    source.at(index) == SIGNATURE
        && source
            .at(index + 1)
            .starts_with(|c: char| c.is_ascii_digit())
}
