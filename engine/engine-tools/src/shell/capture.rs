//! Keeps the first and the last part of an output of any length in bounded memory. Never waits.

use crate::mask::{Mask, MaskStream};
use std::collections::VecDeque;

/// Most bytes of output that a result keeps unless told otherwise.
pub const OUTPUT_MAX_BYTES: usize = 64 * 1024;

/// Output of a command as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// The output, or its first and last part with a note between them that gives
    /// [`Self::left_out_bytes`]. Secrets are masked, bytes that are not UTF-8 replaced.
    pub text: String,
    /// Exact number of bytes that are not in [`Self::text`], counted after masking.
    pub left_out_bytes: u64,
}

/// A text of at most `max_bytes`: itself, or its first and last part and a note between them of how
/// much is left out.
pub(crate) fn bounded(text: String, max_bytes: usize) -> String {
    if text.len() <= max_bytes {
        return text;
    }
    let mut kept = Kept::new(max_bytes);
    kept.push(text.as_bytes());
    kept.into_output().text
}

/// Collects an output.
#[derive(Debug)]
pub(crate) struct Capture {
    mask: MaskStream,
    kept: Kept,
}

#[derive(Debug)]
struct Kept {
    head: Vec<u8>,
    head_max: usize,
    tail: VecDeque<u8>,
    tail_max: usize,
    dropped: u64,
}

impl Capture {
    /// Keeps at most `max_bytes`, half of them from the beginning.
    pub(crate) fn new(max_bytes: usize, mask: &Mask) -> Self {
        Self {
            mask: mask.stream(),
            kept: Kept::new(max_bytes),
        }
    }

    /// Takes the next piece.
    pub(crate) fn push(&mut self, piece: &[u8]) {
        let kept = &mut self.kept;
        self.mask.push(piece, &mut |bytes| kept.push(bytes));
    }

    /// The output as it is kept.
    pub(crate) fn finish(self) -> Output {
        let Self { mask, mut kept } = self;
        mask.finish(&mut |bytes| kept.push(bytes));
        kept.into_output()
    }
}

impl Kept {
    fn new(max_bytes: usize) -> Self {
        let head_max = max_bytes / 2;
        Self {
            head: Vec::new(),
            head_max,
            tail: VecDeque::new(),
            tail_max: max_bytes - head_max,
            dropped: 0,
        }
    }

    fn push(&mut self, bytes: &[u8]) {
        let (first, rest) = bytes.split_at(bytes.len().min(self.head_max - self.head.len()));
        self.head.extend_from_slice(first);
        let skipped = rest.len().saturating_sub(self.tail_max);
        let rest = &rest[skipped..];
        let pushed_out = (self.tail.len() + rest.len()).saturating_sub(self.tail_max);
        let pushed_out = pushed_out.min(self.tail.len());
        self.tail.drain(..pushed_out);
        self.tail.extend(rest);
        self.dropped += (skipped + pushed_out) as u64;
    }

    fn into_output(mut self) -> Output {
        if self.dropped == 0 {
            self.head.extend(self.tail);
            return Output {
                text: String::from_utf8_lossy(&self.head).into_owned(),
                left_out_bytes: 0,
            };
        }
        let tail = self.tail.make_contiguous();
        let head_end = end_of_last_whole_character(&self.head);
        let tail_start = start_of_first_whole_character(tail);
        let left_out_bytes = self.dropped + (self.head.len() - head_end + tail_start) as u64;
        let text = format!(
            "{}\n[… {left_out_bytes} bytes left out …]\n{}",
            String::from_utf8_lossy(&self.head[..head_end]),
            String::from_utf8_lossy(&tail[tail_start..]),
        );
        Output {
            text,
            left_out_bytes,
        }
    }
}

/// True for the second to fourth byte of a UTF-8 character.
fn continues(byte: u8) -> bool {
    byte & 0xC0 == 0x80
}

/// Where the last character that is not cut ends. A byte that begins no character counts as one.
fn end_of_last_whole_character(bytes: &[u8]) -> usize {
    let tail = bytes.iter().rev().take(3).take_while(|b| continues(**b));
    let start = bytes.len() - tail.count();
    let Some(&lead) = start.checked_sub(1).and_then(|at| bytes.get(at)) else {
        return bytes.len();
    };
    let wanted = match lead {
        0xC2..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0..=0xF4 => 4,
        _ => return bytes.len(),
    };
    if bytes.len() - (start - 1) < wanted {
        start - 1
    } else {
        bytes.len()
    }
}

/// Where the first character that is not cut begins.
fn start_of_first_whole_character(bytes: &[u8]) -> usize {
    bytes.iter().take(3).take_while(|b| continues(**b)).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn captured(max_bytes: usize, pieces: &[&[u8]]) -> Output {
        let mut capture = Capture::new(max_bytes, &Mask::default());
        for piece in pieces {
            capture.push(piece);
        }
        capture.finish()
    }

    #[test]
    fn the_first_and_the_last_part_are_kept() {
        let check = |text: &str, expected: &str, left_out: u64| {
            let output = captured(8, &[text.as_bytes()]);
            assert_eq!(
                (output.text.as_str(), output.left_out_bytes),
                (expected, left_out)
            );
        };
        check("", "", 0);
        check("12345678", "12345678", 0);
        check("123456789", "1234\n[… 1 bytes left out …]\n6789", 1);
        check("123é56789", "123\n[… 3 bytes left out …]\n6789", 3);
        check("123456é89", "1234\n[… 2 bytes left out …]\né89", 2);
        check("1234567é9", "1234\n[… 2 bytes left out …]\n7é9", 2);
        check("12🐋3456🐋", "12\n[… 8 bytes left out …]\n🐋", 8);
        check("1234567🐋9", "1234\n[… 7 bytes left out …]\n9", 7);
    }

    #[test]
    fn a_secret_at_the_cut_is_masked_before_it_is_cut() {
        let mask = Mask::new([("K".to_owned(), "secret-value".to_owned())]);
        let mut capture = Capture::new(16, &mask);
        capture.push(b"1234secret-");
        capture.push(b"value56789012345678");
        assert_eq!(
            capture.finish().text,
            "1234[mas\n[… 12 bytes left out …]\n12345678"
        );
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_nothing_counted_twice(
            text in "\\PC{0,60}",
            max in 0usize..40,
            cut in 0usize..60,
        ) {
            let bytes = text.as_bytes();
            let (a, b) = bytes.split_at(cut.min(bytes.len()));
            let output = captured(max, &[a, b]);
            let replaced = output.text.contains(char::REPLACEMENT_CHARACTER);
            prop_assert!(!replaced || text.contains(char::REPLACEMENT_CHARACTER));
            if output.left_out_bytes == 0 {
                prop_assert_eq!(output.text, text);
            } else {
                let note = format!("\n[… {} bytes left out …]\n", output.left_out_bytes);
                let kept = output.text.len() - note.len();
                prop_assert!(kept <= max);
                prop_assert_eq!(kept as u64 + output.left_out_bytes, bytes.len() as u64);
                let (head, tail) = output.text.split_once(&note).unwrap();
                prop_assert!(text.starts_with(head) && text.ends_with(tail));
            }
        }
    }
}
