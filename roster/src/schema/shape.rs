//! What a key and its value look like. Knows no particular key.

/// One key that may be written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Key {
    /// Its name.
    pub(crate) name: &'static str,
    /// What its value looks like.
    pub(crate) shape: Shape,
    /// Whether it must be there.
    pub(crate) need: Need,
    /// What it means, in one sentence.
    pub(crate) doc: &'static str,
    /// What holds without it, for people.
    pub(crate) default: &'static str,
    /// A value as it is written.
    pub(crate) example: &'static str,
    /// What people write instead of its name.
    pub(crate) also: &'static [&'static str],
}

/// Whether a key must be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// It may be left out.
    Optional,
    /// Its table is incomplete without it.
    Required,
}

impl Key {
    /// An optional key.
    pub(crate) const fn new(name: &'static str, shape: Shape, doc: &'static str) -> Self {
        Self {
            name,
            shape,
            need: Need::Optional,
            doc,
            default: "",
            example: "",
            also: &[],
        }
    }

    /// Makes it a key that must be there.
    pub(crate) const fn required(mut self) -> Self {
        self.need = Need::Required;
        self
    }

    /// Says what holds without it.
    pub(crate) const fn default(mut self, default: &'static str) -> Self {
        self.default = default;
        self
    }

    /// Shows a value.
    pub(crate) const fn example(mut self, example: &'static str) -> Self {
        self.example = example;
        self
    }

    /// Lists what people write instead.
    pub(crate) const fn also(mut self, also: &'static [&'static str]) -> Self {
        self.also = also;
        self
    }
}

/// What a value looks like.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Shape {
    /// A text that is not blank.
    Text,
    /// A name by the grammar of task ids.
    Name,
    /// A branch, tag or commit.
    Revision,
    /// A whole number between both, inclusive.
    Count {
        /// Smallest.
        least: u64,
        /// Largest.
        most: u64,
    },
    /// True or false.
    Flag,
    /// Hours, minutes and seconds, at least one second.
    Duration,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// `provider/model`; `${NAME}` is replaced.
    Model,
    /// Where a provider answers; `${NAME}` is replaced.
    BaseUrl,
    /// The name of an environment variable.
    Variable,
    /// A file or folder; `${NAME}` is replaced, `~` means home, relative to the file it stands in.
    Path,
    /// A file inside the repository, relative to its root; `${NAME}` is replaced.
    RepoFile,
    /// The name of something else.
    Reference(Sort),
    /// Values in order.
    List(&'static Shape),
    /// Values in any order, none twice.
    Set(&'static Shape),
    /// A table with these keys.
    Table(&'static [Key]),
    /// Tables with names of their own, each with these keys.
    Named(&'static [Key]),
    /// Numbered tables with these keys.
    Rows(&'static [Key]),
}

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sort {
    /// A built-in or declared role.
    Role,
    /// A task of the same roster.
    Task,
    /// A tool that agents may have.
    Tool,
}

impl Sort {
    /// The word for it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Role => "role",
            Self::Task => "task",
            Self::Tool => "tool",
        }
    }
}

impl Shape {
    /// True for what is written as a text in quotes.
    pub(crate) fn is_text(&self) -> bool {
        match self {
            Self::Text
            | Self::Name
            | Self::Revision
            | Self::Duration
            | Self::Choice(_)
            | Self::Model
            | Self::BaseUrl
            | Self::Variable
            | Self::Path
            | Self::RepoFile
            | Self::Reference(_) => true,
            Self::Count { .. }
            | Self::Flag
            | Self::List(_)
            | Self::Set(_)
            | Self::Table(_)
            | Self::Named(_)
            | Self::Rows(_) => false,
        }
    }

    /// What belongs here, in words that follow *takes*.
    pub(crate) fn expects(&self) -> String {
        match self {
            Self::Text => "a text".to_owned(),
            Self::Name => "a name".to_owned(),
            Self::Revision => "the name of a branch, tag or commit".to_owned(),
            Self::Count { .. } => "a whole number".to_owned(),
            Self::Flag => "`true` or `false`".to_owned(),
            Self::Duration => "a duration such as \"30m\"".to_owned(),
            Self::Choice(words) => format!("one of {}", listed(words)),
            Self::Model => "a model as \"provider/model\"".to_owned(),
            Self::BaseUrl => "a URL".to_owned(),
            Self::Variable => "the name of an environment variable".to_owned(),
            Self::Path => "a path".to_owned(),
            Self::RepoFile => "the path of a file in the repository".to_owned(),
            Self::Reference(sort) => format!("the name of a {}", sort.word()),
            Self::List(item) | Self::Set(item) => format!("a list, each item {}", item.expects()),
            Self::Table(_) | Self::Named(_) => "a table".to_owned(),
            Self::Rows(_) => "tables in double brackets".to_owned(),
        }
    }

    /// Its type as the documentation says it.
    pub(crate) fn label(&self) -> String {
        match self {
            Self::Text => "text".to_owned(),
            Self::Name => "name".to_owned(),
            Self::Revision => "revision".to_owned(),
            Self::Count { least, most } if *most == u64::MAX => {
                format!("whole number from {least}")
            }
            Self::Count { least, most } => format!("whole number, {least} to {most}"),
            Self::Flag => "`true` or `false`".to_owned(),
            Self::Duration => "duration".to_owned(),
            Self::Choice(words) => listed(words),
            Self::Model => "model".to_owned(),
            Self::BaseUrl => "URL".to_owned(),
            Self::Variable => "variable name".to_owned(),
            Self::Path => "path".to_owned(),
            Self::RepoFile => "path in the repository".to_owned(),
            Self::Reference(sort) => format!("name of a {}", sort.word()),
            Self::List(item) => format!("list of: {}", item.label()),
            Self::Set(item) => format!("list without repeats of: {}", item.label()),
            Self::Table(_) | Self::Named(_) => "table".to_owned(),
            Self::Rows(_) => "tables".to_owned(),
        }
    }
}

/// Words in back quotes, with commas.
pub(crate) fn listed(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    quoted.join(", ")
}
