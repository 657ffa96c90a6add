//! A text after every key and value was checked for itself: tables of known keys with their values and
//! spans. Knows nothing of how values belong together.

use crate::source::Span;
use crate::value::Leaf;
use engine_core::ids::ModelName;
use std::collections::BTreeMap;

/// A value with the place it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Spot<T> {
    /// The value.
    pub(crate) value: T,
    /// Where it stands.
    pub(crate) span: Span,
}

/// A checked value.
#[derive(Debug, Clone)]
pub(crate) enum Value {
    /// No table and no list.
    Leaf(Leaf),
    /// Texts in the order written.
    List(Vec<Spot<String>>),
    /// A table.
    Table(Fields),
    /// Tables: the named ones and the numbered ones.
    Tables(Vec<Fields>),
}

/// The known keys of one table.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fields {
    /// Path for findings: `role.builder`, `task.tests`. Empty at the top.
    pub(crate) path: String,
    /// Its own name, where it has one: what stands in the header.
    pub(crate) name: String,
    /// Where its name or header stands.
    pub(crate) span: Span,
    /// Whether one of its own keys was refused: then what seems to be missing may be there, misspelt.
    pub(crate) health: Health,
    /// Names of tables under a misspelt family, by the family that was meant.
    pub(crate) misspelt: Vec<(&'static str, String)>,
    entries: BTreeMap<&'static str, Spot<Value>>,
}

/// Whether a table could be read completely.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Health {
    /// Every key of its own is fine for itself.
    #[default]
    Sound,
    /// One of its own keys was refused.
    Faulty,
}

impl Fields {
    /// A table without keys.
    pub(crate) fn new(path: &str, name: &str, span: Span) -> Self {
        Self {
            path: path.to_owned(),
            name: name.to_owned(),
            span,
            ..Self::default()
        }
    }

    /// Adds a checked value.
    pub(crate) fn insert(&mut self, key: &'static str, span: Span, value: Value) {
        self.entries.insert(key, Spot { value, span });
    }

    /// Path of one of its keys.
    pub(crate) fn path_of(&self, key: &str) -> String {
        join(&self.path, key)
    }

    /// True when the key is there and its value is fine.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.entries.contains_key(key)
    }

    /// Where the value of a key stands; its table's place when it is absent.
    pub(crate) fn span_of(&self, key: &str) -> Span {
        self.entries.get(key).map_or(self.span, |spot| spot.span)
    }

    /// A text.
    pub(crate) fn text(&self, key: &str) -> Option<Spot<&str>> {
        self.leaf(key, |leaf| match leaf {
            Leaf::Text(text) => Some(text.as_str()),
            _ => None,
        })
    }

    /// A text of one's own.
    pub(crate) fn owned_text(&self, key: &str) -> Option<String> {
        self.text(key).map(|spot| spot.value.to_owned())
    }

    /// A count, or the seconds of a duration.
    pub(crate) fn number(&self, key: &str) -> Option<Spot<u64>> {
        self.leaf(key, |leaf| match leaf {
            Leaf::Number(number) => Some(*number),
            _ => None,
        })
    }

    /// A yes or no.
    pub(crate) fn flag(&self, key: &str) -> Option<Spot<bool>> {
        self.leaf(key, |leaf| match leaf {
            Leaf::Flag(flag) => Some(*flag),
            _ => None,
        })
    }

    /// A model.
    pub(crate) fn model(&self, key: &str) -> Option<Spot<ModelName>> {
        self.leaf(key, |leaf| match leaf {
            Leaf::Model(name) => Some(name.clone()),
            _ => None,
        })
    }

    /// A list of texts; empty when it is absent.
    pub(crate) fn list(&self, key: &str) -> &[Spot<String>] {
        match self.entries.get(key).map(|spot| &spot.value) {
            Some(Value::List(items)) => items,
            _ => &[],
        }
    }

    /// A table inside.
    pub(crate) fn table(&self, key: &str) -> Option<&Self> {
        match self.entries.get(key).map(|spot| &spot.value) {
            Some(Value::Table(fields)) => Some(fields),
            _ => None,
        }
    }

    /// Tables inside; empty when there are none.
    pub(crate) fn tables(&self, key: &str) -> &[Self] {
        match self.entries.get(key).map(|spot| &spot.value) {
            Some(Value::Tables(tables)) => tables,
            _ => &[],
        }
    }

    fn leaf<'a, T>(&'a self, key: &str, read: impl Fn(&'a Leaf) -> Option<T>) -> Option<Spot<T>> {
        let spot = self.entries.get(key)?;
        match &spot.value {
            Value::Leaf(leaf) => read(leaf).map(|value| Spot {
                value,
                span: spot.span,
            }),
            _ => None,
        }
    }
}

/// A path and one more key.
pub(crate) fn join(path: &str, key: &str) -> String {
    if path.is_empty() {
        key.to_owned()
    } else {
        format!("{path}.{key}")
    }
}
