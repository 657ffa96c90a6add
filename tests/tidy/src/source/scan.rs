//! Tokens and comments of a text. A comment is what no token covers, so a `//` within a text literal
//! is never taken for one. Never parses.

use super::{Line, Token};
use proc_macro2::{Delimiter, Group, Punct, Spacing, Span, TokenStream, TokenTree};
use std::ops::Range;

/// The tokens without doc comments, and the comments with them.
pub(super) fn tokens_and_comments(stream: TokenStream, text: &str) -> (Vec<Token>, Vec<Line>) {
    let mut scan = Scan {
        text,
        tokens: Vec::new(),
        covered: Vec::new(),
        open_colon: false,
    };
    scan.stream(stream);
    let comments = scan.comments();
    (scan.tokens, comments)
}

struct Scan<'a> {
    text: &'a str,
    tokens: Vec<Token>,
    /// Bytes that tokens cover, in order.
    covered: Vec<Range<usize>>,
    /// The last token is the first colon of a `::`.
    open_colon: bool,
}

impl Scan<'_> {
    fn stream(&mut self, stream: TokenStream) {
        for tree in stream {
            match tree {
                TokenTree::Group(group) => self.group(&group),
                TokenTree::Ident(ident) => self.leaf(ident.span()),
                TokenTree::Punct(punct) if self.ends_a_path_mark(&punct) => self.join(punct.span()),
                TokenTree::Punct(punct) => {
                    self.leaf(punct.span());
                    self.open_colon = punct.as_char() == ':' && punct.spacing() == Spacing::Joint;
                    continue;
                }
                TokenTree::Literal(literal) => self.leaf(literal.span()),
            }
            self.open_colon = false;
        }
    }

    fn ends_a_path_mark(&self, punct: &Punct) -> bool {
        self.open_colon && punct.as_char() == ':'
    }

    fn join(&mut self, span: Span) {
        let colon = self.tokens.last_mut();
        colon.expect("a colon stands before").text.push(':');
        self.covered.push(span.byte_range());
    }

    fn group(&mut self, group: &Group) {
        // The tokens of a doc comment all carry the span of the whole comment.
        let is_doc = self.is_comment(group.span());
        if is_doc {
            return;
        }
        let visible = group.delimiter() != Delimiter::None;
        if visible {
            self.leaf(group.span_open());
        }
        self.stream(group.stream());
        if visible {
            self.leaf(group.span_close());
        }
    }

    fn leaf(&mut self, span: Span) {
        if self.is_comment(span) {
            return;
        }
        let bytes = span.byte_range();
        self.tokens.push(Token {
            text: self.text[bytes.clone()].to_owned(),
            line: span.start().line,
            last_line: span.end().line,
        });
        self.covered.push(bytes);
    }

    fn is_comment(&self, span: Span) -> bool {
        let text = &self.text[span.byte_range()];
        text.starts_with("//") || text.starts_with("/*")
    }

    fn comments(&self) -> Vec<Line> {
        let mut lines = Vec::new();
        let (mut from, mut line) = (0, 1);
        let end = self.text.len();
        for covered in self
            .covered
            .iter()
            .cloned()
            .chain(std::iter::once(end..end))
        {
            let gap = &self.text[from..covered.start];
            let numbered = gap.split('\n').enumerate();
            lines.extend(numbered.filter(|(_, text)| !text.trim().is_empty()).map(
                |(offset, text)| Line {
                    line: line + offset,
                    text: text.trim().to_owned(),
                },
            ));
            line += self.text[from..covered.end].matches('\n').count();
            from = covered.end;
        }
        lines
    }
}
