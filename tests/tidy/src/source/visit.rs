//! Functions, imports, attributes and test-only parts of a parsed file. Never looks into the
//! arguments of a macro: rules on calls work on tokens.

use super::{Attribute, Function, Line, Token};
use proc_macro2::extra::DelimSpan;
use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use syn::visit::{self, Visit};

/// What a walk over the file collects.
#[derive(Default)]
pub(super) struct Facts {
    pub(super) functions: Vec<Function>,
    pub(super) imports: Vec<Line>,
    pub(super) attributes: Vec<Attribute>,
    pub(super) test_lines: Vec<RangeInclusive<usize>>,
    pub(super) test_modules: Vec<String>,
}

struct Walk<'a> {
    tokens: &'a [Token],
    facts: Facts,
}

/// Walks the file once.
pub(super) fn facts_of(file: &syn::File, tokens: &[Token]) -> Facts {
    let facts = Facts::default();
    let mut walk = Walk { tokens, facts };
    walk.visit_file(file);
    walk.facts
}

impl Walk<'_> {
    fn function(
        &mut self,
        visibility: Option<&syn::Visibility>,
        sig: &syn::Signature,
        body: &syn::Block,
    ) {
        let is_public = matches!(visibility, Some(syn::Visibility::Public(_)));
        let bools = sig.inputs.iter().filter_map(bool_parameter);
        self.facts.functions.push(Function {
            name: sig.ident.to_string(),
            line: sig.ident.span().start().line,
            code_lines: self.code_lines_within(body),
            parameters: sig.inputs.len(),
            public_bools: bools.filter(|_| is_public).collect(),
        });
    }

    fn code_lines_within(&self, body: &syn::Block) -> usize {
        let open = body.brace_token.span.open().end().line;
        let close = body.brace_token.span.close().start().line;
        let covered: BTreeSet<usize> = self
            .tokens
            .iter()
            .flat_map(|token| token.line..=token.last_line)
            .filter(|line| open < *line && *line < close)
            .collect();
        covered.len()
    }

    fn test_only(&mut self, attributes: &[syn::Attribute], lines: RangeInclusive<usize>) {
        if attributes.iter().any(is_for_tests) {
            self.facts.test_lines.push(lines);
        }
    }
}

impl<'ast> Visit<'ast> for Walk<'_> {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.test_only(&item.attrs, lines_of(item.block.brace_token.span));
        self.function(Some(&item.vis), &item.sig, &item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.test_only(&item.attrs, lines_of(item.block.brace_token.span));
        self.function(Some(&item.vis), &item.sig, &item.block);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(body) = &item.default {
            self.function(None, &item.sig, body);
        }
        visit::visit_trait_item_fn(self, item);
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        self.test_only(&item.attrs, lines_of(item.brace_token.span));
        visit::visit_item_impl(self, item);
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        match &item.content {
            Some((braces, _)) => {
                self.test_only(&item.attrs, lines_of(braces.span));
            }
            None if item.attrs.iter().any(is_for_tests) => {
                self.facts.test_modules.push(item.ident.to_string());
            }
            None => {}
        }
        visit::visit_item_mod(self, item);
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.test_only(
            &item.attrs,
            item.use_token.span.start().line..=item.semi_token.span.end().line,
        );
        write_out(&item.tree, "", &mut self.facts.imports);
    }

    fn visit_attribute(&mut self, attribute: &'ast syn::Attribute) {
        let name = path_text(attribute.path());
        if name != "doc" {
            let arguments = match &attribute.meta {
                syn::Meta::List(list) => list.tokens.to_string(),
                _ => String::new(),
            };
            self.facts.attributes.push(Attribute {
                name,
                arguments,
                line: attribute.pound_token.span.start().line,
            });
        }
    }
}

fn lines_of(braces: DelimSpan) -> RangeInclusive<usize> {
    braces.open().start().line..=braces.close().end().line
}

/// `#[test]`, `#[tokio::test]`, `#[cfg(test)]`.
fn is_for_tests(attribute: &syn::Attribute) -> bool {
    let path = attribute.path();
    let names_test = |text: &str| {
        text.split(|c: char| !c.is_alphanumeric())
            .any(|word| word == "test")
    };
    match &attribute.meta {
        syn::Meta::List(list) if path.is_ident("cfg") => {
            let condition = list.tokens.to_string();
            names_test(&condition) && !condition.contains("not")
        }
        _ => path
            .segments
            .last()
            .is_some_and(|last| last.ident == "test"),
    }
}

fn bool_parameter(parameter: &syn::FnArg) -> Option<String> {
    let syn::FnArg::Typed(typed) = parameter else {
        return None;
    };
    let syn::Type::Path(path) = typed.ty.as_ref() else {
        return None;
    };
    let name = match typed.pat.as_ref() {
        syn::Pat::Ident(ident) => ident.ident.to_string(),
        _ => "_".to_owned(),
    };
    path.path.is_ident("bool").then_some(name)
}

fn path_text(path: &syn::Path) -> String {
    let names: Vec<String> = path.segments.iter().map(|s| s.ident.to_string()).collect();
    names.join("::")
}

/// Every path of a `use` tree: `a::{b, c::d as e}` is `a::b` and `a::c::d`.
fn write_out(tree: &syn::UseTree, prefix: &str, into: &mut Vec<Line>) {
    let mut leaf = |ident: &proc_macro2::Ident| {
        into.push(Line {
            line: ident.span().start().line,
            text: format!("{prefix}{ident}"),
        });
    };
    match tree {
        syn::UseTree::Path(path) => {
            write_out(&path.tree, &format!("{prefix}{}::", path.ident), into);
        }
        syn::UseTree::Name(name) => leaf(&name.ident),
        syn::UseTree::Rename(rename) => leaf(&rename.ident),
        syn::UseTree::Glob(glob) => into.push(Line {
            line: glob.star_token.span.start().line,
            text: format!("{prefix}*"),
        }),
        syn::UseTree::Group(group) => {
            for tree in &group.items {
                write_out(tree, prefix, into);
            }
        }
    }
}
