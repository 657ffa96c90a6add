//! One value by its shape. Tables are walked elsewhere.

use super::{address, duration, model, name, path};
use crate::diagnostic::{Code, quoted};
use crate::fault::Fault;
use crate::near::nearest;
use crate::schema::{Shape, listed, not_yet_value};
use crate::surroundings::Surroundings;
use engine_core::ids::ModelName;
use toml::de::DeValue;

/// A value that is no table and no list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Leaf {
    /// Any text, already expanded.
    Text(String),
    /// A model.
    Model(ModelName),
    /// A count, or the seconds of a duration.
    Number(u64),
    /// Yes or no.
    Flag(bool),
}

/// Which key a value belongs to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Site<'a> {
    /// Its own name, for messages.
    pub(crate) key: &'a str,
    /// Its path without names of tables.
    pub(crate) place: &'a str,
}

/// Reads one value.
pub(crate) fn leaf(
    site: Site<'_>,
    shape: &Shape,
    value: &DeValue<'_>,
    around: &Surroundings<'_>,
) -> Result<Leaf, Fault> {
    match (shape, value) {
        (Shape::Count { least, most }, DeValue::Integer(number)) => {
            let number = i128::from_str_radix(number.as_str(), number.radix());
            count(site, number.ok(), (*least, *most))
        }
        (Shape::Flag, DeValue::Boolean(flag)) => Ok(Leaf::Flag(*flag)),
        (shape, DeValue::String(text)) if shape.is_text() => text_leaf(site, shape, text, around),
        _ => Err(wrong_type(site, shape, value)),
    }
}

fn count(site: Site<'_>, number: Option<i128>, (least, most): (u64, u64)) -> Result<Leaf, Fault> {
    let range = if most == u64::MAX {
        format!("at least {least}")
    } else {
        format!("from {least} to {most}")
    };
    let Some(number) = number else {
        return Err(Fault::bad(format!(
            "the number of `{}` is too large",
            site.key
        )));
    };
    match u64::try_from(number) {
        Ok(number) if (least..=most).contains(&number) => Ok(Leaf::Number(number)),
        _ => {
            let fault = Fault::bad(format!("`{}` must be {range}, not {number}", site.key));
            Err(if most == u64::MAX && number == 0 {
                fault.hint("leave the key out for no cap")
            } else {
                fault
            })
        }
    }
}

fn text_leaf(
    site: Site<'_>,
    shape: &Shape,
    text: &str,
    around: &Surroundings<'_>,
) -> Result<Leaf, Fault> {
    if text.contains('\0') {
        return Err(Fault::bad(format!("`{}` holds a NUL character", site.key)));
    }
    let plain = || Leaf::Text(text.to_owned());
    match shape {
        Shape::Text | Shape::Reference(_) if text.trim().is_empty() => {
            Err(Fault::bad(format!("`{}` is empty", site.key)))
        }
        Shape::Text | Shape::Reference(_) => Ok(plain()),
        Shape::Name => name::check(text).map(|()| plain()),
        Shape::Revision => revision(site, text).map(|()| plain()),
        Shape::Duration => duration::parse(text).map(Leaf::Number),
        Shape::Choice(words) => choice(site, words, text).map(|()| plain()),
        Shape::Model => model::model(site.key, text, around).map(Leaf::Model),
        Shape::BaseUrl => address::base_url(site.key, text, around).map(Leaf::Text),
        Shape::Variable => name::variable(text).map(|()| plain()),
        Shape::Path => path::path(site.key, text, around).map(Leaf::Text),
        Shape::RepoFile => path::repo_file(site.key, text, around).map(Leaf::Text),
        _ => Err(wrong_type(site, shape, &DeValue::String(text.into()))),
    }
}

/// A revision goes to git as an argument: it must not read as an option.
fn revision(site: Site<'_>, text: &str) -> Result<(), Fault> {
    let spoilt = |c: char| c.is_whitespace() || c.is_control();
    if text.is_empty() || text.starts_with('-') || text.contains(spoilt) {
        return Err(Fault::bad(format!(
            "{} is not the name of a branch, tag or commit",
            quoted(text)
        ))
        .hint(format!("leave `{}` out for HEAD of the checkout", site.key)));
    }
    Ok(())
}

fn choice(site: Site<'_>, words: &[&'static str], text: &str) -> Result<(), Fault> {
    if words.contains(&text) {
        return Ok(());
    }
    if let Some(instead) = not_yet_value(site.place, text) {
        return Err(Fault::new(
            Code::NotSupported,
            format!("`{} = \"{text}\"` is not supported yet", site.key),
        )
        .hint(instead));
    }
    let meant = nearest(text, words.iter().copied()).map(str::to_owned);
    Err(
        Fault::bad(format!("{} is not a value of `{}`", quoted(text), site.key))
            .suggest(meant)
            .hint(format!("one of {}", listed(words))),
    )
}

/// The fault of a value whose type does not fit, with the most likely repair.
pub(crate) fn wrong_type(site: Site<'_>, shape: &Shape, value: &DeValue<'_>) -> Fault {
    let fault = Fault::new(
        Code::WrongType,
        format!(
            "`{}` takes {}, not {}",
            site.key,
            shape.expects(),
            sort_of(value)
        ),
    );
    match (shape, value) {
        (Shape::Count { .. } | Shape::Flag, DeValue::String(text)) if is_bare(shape, text) => {
            fault.hint(format!("write {text} without quotes"))
        }
        (Shape::Duration, DeValue::Integer(number)) => {
            let number = number.as_str();
            fault.hint(format!(
                "write \"{number}s\", \"{number}m\" or \"{number}h\""
            ))
        }
        (Shape::List(_) | Shape::Set(_), DeValue::String(text)) => {
            fault.hint(format!("write it in brackets: [{text:?}]"))
        }
        (Shape::Rows(_), DeValue::Table(_)) => {
            fault.hint(format!("write [[{}]] with double brackets", site.key))
        }
        (Shape::Table(_), DeValue::Array(_)) => {
            fault.hint(format!("write [{}] with single brackets", site.key))
        }
        (Shape::Named(_), _) => fault.hint(format!("write [{}.NAME]", site.key)),
        _ => fault,
    }
}

fn is_bare(shape: &Shape, text: &str) -> bool {
    match shape {
        Shape::Flag => matches!(text, "true" | "false"),
        _ => !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit() || b == b'_'),
    }
}

fn sort_of(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number with a fraction",
        DeValue::Boolean(_) => "`true` or `false`",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}
