//! One Rust file as plain facts: its tokens, comments, functions, imports and attributes, each with
//! its line. Never judges them, never resolves a name.

mod scan;
mod visit;

use std::ops::RangeInclusive;
use std::path::Path;

/// Whether a file is part of the product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It is.
    Product,
    /// It is a test, a bench or a crate that only tests use.
    Test,
}

/// A Rust file.
#[derive(Debug)]
pub struct Source {
    /// Relative to the root, with `/`.
    pub path: String,
    /// What the file is for.
    pub kind: Kind,
    /// Its first line.
    pub first_line: String,
    /// How many lines it has.
    pub lines: usize,
    /// Its tokens in order, doc comments left out. `::` is one token, other marks are one each.
    pub tokens: Vec<Token>,
    /// Its comments in order, doc comments included, one entry for each line.
    pub comments: Vec<Line>,
    /// Its functions and methods that have a body.
    pub functions: Vec<Function>,
    /// Every path that a `use` brings in, written out.
    pub imports: Vec<Line>,
    /// Its attributes without doc comments.
    pub attributes: Vec<Attribute>,
    /// Lines of items that exist in tests only.
    test_lines: Vec<RangeInclusive<usize>>,
    /// Names of the modules in other files that exist in tests only.
    test_modules: Vec<String>,
}

/// One token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// Its text.
    pub text: String,
    /// The line it starts on, counted from 1.
    pub line: usize,
    /// The line it ends on: later than `line` for a text over several lines.
    pub last_line: usize,
}

/// A text and the line it stands on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Counted from 1.
    pub line: usize,
    /// The text.
    pub text: String,
}

/// A function or method.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// Where its name stands.
    pub line: usize,
    /// Lines of its body that hold code: neither blank nor only a comment.
    pub code_lines: usize,
    /// Its parameters, `self` included.
    pub parameters: usize,
    /// Names of the parameters of type `bool`, when it is `pub`.
    pub public_bools: Vec<String>,
}

/// An attribute such as `#[expect(…)]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attribute {
    /// Its path: `expect`.
    pub name: String,
    /// The tokens of its arguments, separated by blanks.
    pub arguments: String,
    /// Where it stands.
    pub line: usize,
}

impl Source {
    /// Reads the facts of one file.
    ///
    /// # Errors
    /// When the text is not Rust.
    pub fn parse(path: &str, text: &str) -> Result<Self, syn::Error> {
        let file = syn::parse_file(text)?;
        let (tokens, comments) = scan::tokens_and_comments(text.parse()?, text);
        let facts = visit::facts_of(&file, &tokens);
        Ok(Self {
            path: path.to_owned(),
            kind: kind_of(path),
            first_line: text.lines().next().unwrap_or_default().to_owned(),
            lines: text.lines().count(),
            tokens,
            comments,
            functions: facts.functions,
            imports: facts.imports,
            attributes: facts.attributes,
            test_lines: facts.test_lines,
            test_modules: facts.test_modules,
        })
    }

    /// Lines on which the tokens of `pattern` stand next to each other: `thread::sleep`, `println!`.
    ///
    /// # Panics
    /// When the pattern is not made of Rust tokens.
    #[must_use]
    pub fn lines_with(&self, pattern: &str) -> Vec<usize> {
        let stream = pattern.parse().expect("a pattern is made of Rust tokens");
        let (wanted, _) = scan::tokens_and_comments(stream, pattern);
        self.tokens
            .windows(wanted.len())
            .filter(|window| window.iter().zip(&wanted).all(|(a, b)| a.text == b.text))
            .map(|window| window[0].line)
            .collect()
    }

    /// True when the line exists in tests only.
    #[must_use]
    pub fn is_test_line(&self, line: usize) -> bool {
        self.kind == Kind::Test || self.test_lines.iter().any(|range| range.contains(&line))
    }

    /// Paths where the modules that exist in tests only may lie.
    pub fn test_files(&self) -> impl Iterator<Item = String> {
        let path = Path::new(&self.path);
        let parent = path.parent().unwrap_or(Path::new("")).to_string_lossy();
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let folder = match stem.as_ref() {
            "lib" | "main" | "mod" => parent.into_owned(),
            _ => format!("{parent}/{stem}"),
        };
        self.test_modules
            .iter()
            .map(move |module| format!("{folder}/{module}.rs"))
    }
}

fn kind_of(path: &str) -> Kind {
    let in_folder = |folder: &str| path.split('/').any(|part| part == folder);
    if in_folder("tests") || in_folder("benches") {
        Kind::Test
    } else {
        Kind::Product
    }
}

#[cfg(test)]
mod tests;
