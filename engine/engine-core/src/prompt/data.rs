//! Fences round text that may inform an agent but not order it. Never trusts that text: the fence is
//! longer than any run of backticks inside, so that no text can close it.

/// Most bytes of a handed-over result that are shown.
pub const HANDOVER_MAX_BYTES: usize = 16 * 1024;
/// Most bytes of a diff that are shown to a reviewer.
pub const DIFF_MAX_BYTES: usize = 64 * 1024;

/// A text in its fence.
pub(crate) fn whole_block(title: &str, text: &str) -> String {
    let fence = "`".repeat(longest_run(text).max(2) + 1);
    let end = if text.ends_with('\n') { "" } else { "\n" };
    format!("{fence}data {title}\n{text}{end}{fence}")
}

/// The beginning of a text in its fence, with a word on where the rest is when it is longer.
pub(super) fn cut_block(title: &str, text: &str, max_bytes: usize, whole: &str) -> String {
    let shown = &text[..text.floor_char_boundary(max_bytes)];
    let block = whole_block(title, shown);
    if shown.len() == text.len() {
        return block;
    }
    format!(
        "{block}\n(the first {} of {} bytes; the whole is in {whole})",
        shown.len(),
        text.len()
    )
}

fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}
