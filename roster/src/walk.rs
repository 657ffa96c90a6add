//! Walks a TOML table along the key tables: every key must be known, every value must fit its shape.
//! Finds all faults, stops at none, and knows nothing of how values belong together.

use crate::diagnostic::{Code, Diagnostic, quoted};
use crate::near::nearest;
use crate::schema::{Key, Need, SECTIONS, Shape, not_yet_key};
use crate::source::{Span, line_around};
use crate::surroundings::Surroundings;
use crate::tree::{Fields, Health, Spot, Value, join};
use crate::value::{Leaf, Site, check_name, leaf, wrong_type};
use std::collections::BTreeMap;
use toml::Spanned;
use toml::de::{DeArray, DeString, DeTable, DeValue};

/// Checks a whole file against the key table of its top.
pub(crate) fn walk(
    text: &str,
    table: &DeTable<'_>,
    keys: &'static [Key],
    around: &Surroundings<'_>,
) -> (Fields, Vec<Diagnostic>) {
    let mut walker = Walker {
        text,
        top: keys,
        around,
        found: Vec::new(),
    };
    let fields = walker.fields(table, keys, &Place::default());
    (fields, walker.found)
}

struct Walker<'a> {
    text: &'a str,
    top: &'static [Key],
    around: &'a Surroundings<'a>,
    found: Vec<Diagnostic>,
}

/// Where in the file a table stands.
#[derive(Debug, Clone, Default)]
struct Place {
    /// With names of tables: `role.builder`.
    path: String,
    /// Without them: `role`.
    place: String,
    /// Its own name.
    name: String,
    /// How it is called in a message, with a blank before it: ` in [role.builder]`.
    within: String,
    /// Where its name or header stands.
    span: Span,
}

impl Place {
    /// A table without a name of its own inside this one.
    fn inner(&self, key: &Key, span: Span) -> Self {
        let path = join(&self.path, key.name);
        let within = if self.path.is_empty() {
            format!(" in [{path}]")
        } else {
            format!(" in `{path}`")
        };
        Self {
            place: join(&self.place, key.name),
            path,
            name: String::new(),
            within,
            span,
        }
    }
}

/// A key and its value as TOML has them.
type Pair<'a, 'i> = (&'a Spanned<DeString<'i>>, &'a Spanned<DeValue<'i>>);

impl Walker<'_> {
    fn fields(&mut self, table: &DeTable<'_>, keys: &'static [Key], at: &Place) -> Fields {
        let mut fields = Fields::new(&at.path, &at.name, at.span);
        for pair in table.iter() {
            let before = self.found.len();
            let name: &str = pair.0.get_ref();
            let place = join(&at.place, name);
            let mut value = None;
            if let Some(instead) = not_yet_key(&place) {
                self.not_yet(&fields, pair.0, instead);
            } else if let Some(key) = keys.iter().find(|key| key.name == name) {
                value = self.value(key, pair, at).map(|value| (key, value));
            } else {
                let meant = self.unknown(keys, pair, at);
                fields.misspelt.extend(meant);
            }
            let is_inner = matches!(value, Some((_, Value::Table(_) | Value::Tables(_))));
            if self.found.len() > before && !is_inner {
                fields.health = Health::Faulty;
            }
            if let Some((key, value)) = value {
                fields.insert(key.name, pair.1.span().into(), value);
            }
        }
        if fields.health == Health::Sound {
            self.missing(&fields, keys, at);
        }
        fields
    }

    fn not_yet(&mut self, fields: &Fields, key: &Spanned<DeString<'_>>, instead: &str) {
        let name: &str = key.get_ref();
        let path = fields.path_of(name);
        let message = format!("`{name}` is not supported yet");
        self.found.push(
            Diagnostic::error(Code::NotSupported, key.span().into(), message)
                .at(path)
                .hint(instead),
        );
    }

    fn missing(&mut self, fields: &Fields, keys: &[Key], at: &Place) {
        for key in keys {
            if key.need == Need::Optional || fields.has(key.name) {
                continue;
            }
            let (message, hint) = match key.shape {
                Shape::Rows(_) => (
                    format!("there is no {}", key.name),
                    format!("add a [[{}]] table", key.name),
                ),
                _ => (
                    format!("`{}` is missing{}", key.name, at.within),
                    format!("add a line such as: {} = {}", key.name, key.example),
                ),
            };
            self.found.push(
                Diagnostic::error(Code::Missing, fields.span, message)
                    .at(fields.path_of(key.name))
                    .hint(hint),
            );
        }
    }

    fn value(&mut self, key: &Key, (name, value): Pair<'_, '_>, at: &Place) -> Option<Value> {
        let place = join(&at.place, key.name);
        let path = join(&at.path, key.name);
        let site = Site {
            key: key.name,
            place: &place,
        };
        match (&key.shape, value.get_ref()) {
            (Shape::Table(keys), DeValue::Table(table)) => {
                let inner = at.inner(key, name.span().into());
                Some(Value::Table(self.fields(table, keys, &inner)))
            }
            (Shape::Named(keys), DeValue::Table(table)) => {
                Some(Value::Tables(self.named(key, keys, table)))
            }
            (Shape::Rows(keys), DeValue::Array(rows)) if !rows.is_empty() => {
                Some(Value::Tables(self.rows(key, keys, rows)))
            }
            (Shape::Rows(_), DeValue::Array(_)) => None,
            (Shape::List(item) | Shape::Set(item), DeValue::Array(array)) => {
                let items = self.items(site, &path, item, array);
                if matches!(key.shape, Shape::Set(_)) {
                    self.repeats(&path, &items);
                }
                Some(Value::List(items))
            }
            (shape, raw) => {
                let read = leaf(site, shape, raw, self.around);
                match read {
                    Ok(leaf) => Some(Value::Leaf(leaf)),
                    Err(fault) => {
                        self.found.push(fault.found(&path, value.span().into()));
                        None
                    }
                }
            }
        }
    }

    fn named(&mut self, key: &Key, keys: &'static [Key], table: &DeTable<'_>) -> Vec<Fields> {
        let mut tables = Vec::new();
        for (name, value) in table.iter() {
            let path = join(key.name, name.get_ref());
            let span: Span = name.span().into();
            let DeValue::Table(inner) = value.get_ref() else {
                self.nameless(key, keys, (name, value));
                continue;
            };
            if let Err(fault) = check_name(name.get_ref()) {
                self.found.push(fault.found(&path, span));
                continue;
            }
            let place = Place {
                span,
                within: format!(" in [{path}]"),
                path,
                place: key.name.to_owned(),
                name: name.get_ref().to_string(),
            };
            tables.push(self.fields(inner, keys, &place));
        }
        tables
    }

    /// `[role]` with keys of its own, instead of `[role.NAME]`.
    fn nameless(&mut self, key: &Key, keys: &[Key], (name, value): Pair<'_, '_>) {
        let written: &str = name.get_ref();
        let path = join(key.name, written);
        let message = if keys.iter().any(|known| known.name == written) {
            format!(
                "`{written}` stands in no {}: the table has no name",
                key.name
            )
        } else {
            format!("{} must be a table", quoted(&path))
        };
        let hint = format!("write [{}.NAME] above it", key.name);
        let span: Span = name.span().into();
        let found = Diagnostic::error(Code::WrongType, span, message).at(path);
        self.found.push(concealed(found, written, value).hint(hint));
    }

    fn rows(&mut self, key: &Key, keys: &'static [Key], rows: &DeArray<'_>) -> Vec<Fields> {
        let mut tables = Vec::new();
        for (index, row) in rows.iter().enumerate() {
            let span: Span = row.span().into();
            let DeValue::Table(table) = row.get_ref() else {
                let site = Site {
                    key: key.name,
                    place: key.name,
                };
                let fault = wrong_type(site, &key.shape, row.get_ref());
                self.found.push(fault.found(key.name, span));
                continue;
            };
            let id = table
                .get("id")
                .and_then(|id| id.get_ref().as_str())
                .filter(|id| check_name(id).is_ok());
            let (name, within) = match id {
                Some(id) => (id.to_owned(), format!(" in {} `{id}`", key.name)),
                None => (
                    format!("#{}", index + 1),
                    format!(" in [[{}]] number {}", key.name, index + 1),
                ),
            };
            let place = Place {
                path: join(key.name, &name),
                place: key.name.to_owned(),
                name,
                within,
                span,
            };
            tables.push(self.fields(table, keys, &place));
        }
        tables
    }

    fn items(
        &mut self,
        site: Site<'_>,
        path: &str,
        shape: &Shape,
        array: &DeArray<'_>,
    ) -> Vec<Spot<String>> {
        let mut items = Vec::new();
        for item in array.iter() {
            let span: Span = item.span().into();
            match leaf(site, shape, item.get_ref(), self.around) {
                Ok(Leaf::Text(value)) => items.push(Spot { value, span }),
                // No list in the key tables holds anything but texts.
                Ok(_) => {}
                Err(fault) => self.found.push(fault.found(path, span)),
            }
        }
        items
    }

    fn repeats(&mut self, path: &str, items: &[Spot<String>]) {
        let mut seen: BTreeMap<&str, Span> = BTreeMap::new();
        for item in items {
            if let Some(first) = seen.get(item.value.as_str()) {
                let message = format!("{} is listed twice", quoted(&item.value));
                self.found.push(
                    Diagnostic::error(Code::Duplicate, item.span, message)
                        .at(path)
                        .relate(*first, "the first time"),
                );
            } else {
                seen.insert(&item.value, item.span);
            }
        }
    }

    /// Reports an unknown key. What it returns are the names of tables that would be there if the key
    /// were spelt as it was probably meant, so that references to them raise no second alarm.
    fn unknown(
        &mut self,
        keys: &'static [Key],
        (name, value): Pair<'_, '_>,
        at: &Place,
    ) -> Vec<(&'static str, String)> {
        let written: &str = name.get_ref();
        let meant = near_key(written, keys, value.get_ref());
        let family = meant.filter(|key| matches!(key.shape, Shape::Named(_)));
        if let (Some(family), DeValue::Table(tables)) = (family, value.get_ref())
            && !tables.is_empty()
        {
            return self.misspelt_family(written, family, tables);
        }
        let message = format!("unknown key {}{}", quoted(written), at.within);
        let mut found = Diagnostic::error(Code::UnknownKey, name.span().into(), message)
            .at(join(&at.path, written));
        found = match meant {
            Some(key) => found.suggest(Some(key.name.to_owned())),
            None => self.elsewhere(found, (written, value.get_ref()), at),
        };
        if at.place == "provider" && is_secret(written) {
            found = found
                .suggest(Some("key_env".to_owned()))
                .hint("a key never stands here: put it into an environment variable and name that");
        }
        self.found.push(concealed(found, written, value));
        Vec::new()
    }

    /// Looks for a word in the other tables of the file.
    fn elsewhere(
        &self,
        found: Diagnostic,
        (written, value): (&str, &DeValue<'_>),
        at: &Place,
    ) -> Diagnostic {
        let others = || {
            SECTIONS
                .iter()
                .filter(|section| section.place != at.place)
                .filter_map(|section| Some((section, self.top_key(section.place)?)))
        };
        let exact = others().find_map(|(section, top)| {
            let key = section.keys.iter().find(|key| key.name == written)?;
            Some((section, top, key))
        });
        let home = exact.or_else(|| {
            others().find_map(|(section, top)| {
                let key = near_key(written, section.keys, value)?;
                Some((section, top, key))
            })
        });
        match home {
            Some((section, top, key)) => {
                let is_plain = matches!(top.shape, Shape::Table(_));
                let path = (at.path.is_empty() && is_plain).then(|| join(top.name, key.name));
                let hint = format!("`{}` stands in {}", key.name, section.header);
                found.suggest(path).hint(hint)
            }
            None => found,
        }
    }

    fn top_key(&self, name: &str) -> Option<&'static Key> {
        self.top.iter().find(|key| key.name == name)
    }

    fn misspelt_family(
        &mut self,
        written: &str,
        family: &Key,
        tables: &DeTable<'_>,
    ) -> Vec<(&'static str, String)> {
        let mut names = Vec::new();
        for (child, _) in tables.iter() {
            let name: &str = child.get_ref();
            let span = header_around(self.text, child.span().into());
            let path = join(written, name);
            let message = format!("unknown table {}", quoted(&format!("[{path}]")));
            self.found.push(
                Diagnostic::error(Code::UnknownKey, span, message)
                    .at(path)
                    .suggest(Some(join(family.name, name))),
            );
            names.push((family.name, name.to_owned()));
        }
        names
    }
}

/// The known key that a word of a table was probably meant to be. Only a table can be meant as a family of
/// tables.
fn near_key(written: &str, keys: &'static [Key], value: &DeValue<'_>) -> Option<&'static Key> {
    let words = |key: &'static Key| {
        std::iter::once(key.name)
            .chain(key.also.iter().copied())
            .map(move |word| (word, key))
    };
    let all: Vec<(&str, &Key)> = keys
        .iter()
        .filter(|key| value.is_table() || !matches!(key.shape, Shape::Named(_)))
        .flat_map(words)
        .collect();
    let meant = nearest(written, all.iter().map(|(word, _)| *word))?;
    all.iter()
        .find(|(word, _)| *word == meant)
        .map(|(_, key)| *key)
}

/// The inside of the brackets around a name in a header line; elsewhere the name itself.
fn header_around(text: &str, name: Span) -> Span {
    let line = line_around(text, name.start);
    let written = &text[line.start..line.end];
    let inside = written.trim_start().trim_start_matches('[').trim_start();
    let start = line.end - inside.len();
    match inside.find(']') {
        Some(length) if written.trim_start().starts_with('[') => Span {
            start,
            end: start + inside[..length].trim_end().len(),
        },
        _ => name,
    }
}

/// True for a name whose value may be secret.
fn is_secret(name: &str) -> bool {
    let name = name.to_lowercase();
    ["key", "token", "secret", "password"]
        .iter()
        .any(|word| name.contains(word))
}

fn concealed(found: Diagnostic, name: &str, value: &Spanned<DeValue<'_>>) -> Diagnostic {
    if is_secret(name) && value.get_ref().is_str() {
        found.conceal(value.span().into())
    } else {
        found
    }
}
