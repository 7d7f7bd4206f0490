//! Writes types as TypeScript, as serde writes their values as JSON. An attribute of serde that is not known here is a
//! failure, not a guess.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use syn::meta::ParseNestedMeta;
use syn::{
    Attribute, Expr, Field, Fields, GenericArgument, ItemEnum, Lit, LitStr, PathArguments, Type, Variant,
};

use super::sources::{Definition, Sources};

/// Types whose JSON does not follow from their fields.
const KNOWN: &[(&str, &str)] = &[
    ("CellId", "string"),
    ("FailureKind", "string"),
    ("ChangeSet", "(number | [number, ...string[]])[]"),
    ("Output", "unknown"),
    ("PathBuf", "string"),
    ("RawValue", "unknown"),
    ("Revision", "string"),
    ("String", "string"),
    ("Value", "unknown"),
    ("bool", "boolean"),
    ("f64", "number"),
    ("i64", "number"),
    ("u64", "number"),
    ("usize", "number"),
];

/// How long the line of a type may be.
const WIDTH: usize = 120;

pub(super) struct Writer {
    sources: Sources,
    parts: &'static [(&'static str, &'static [&'static str])],
    /// The text of each type, and the file that defines it.
    done: BTreeMap<String, (String, PathBuf)>,
}

/// The attributes of serde that decide on JSON.
#[derive(Default)]
struct Serde {
    rename_all: Option<String>,
    tag: Option<String>,
    is_untagged: bool,
    is_skipped: bool,
    is_optional: bool,
    /// A module that writes the value; those of paths write text.
    with: Option<String>,
}

impl Writer {
    pub(super) fn new(parts: &'static [(&'static str, &'static [&'static str])]) -> Writer {
        Writer { sources: Sources::read(), parts, done: BTreeMap::new() }
    }

    pub(super) fn text(&self) -> String {
        let head = "// The requests and replies between the page and the host. Generated from the Rust definitions by a test of\n\
                    // crates/host: `CELLIST_WRITE_PROTOCOL=1 cargo test -p cellist-host --test it` writes this file.\n";
        let types = self.done.values().map(|(text, _)| text.as_str());
        std::iter::once(head).chain(types).collect::<Vec<_>>().join("\n")
    }

    pub(super) fn add(&mut self, name: &str) {
        self.add_from(name, None);
    }

    fn add_from(&mut self, name: &str, from: Option<&Path>) {
        let definition = self.sources.find(name, from);
        let (Definition::Struct(_, path) | Definition::Enum(_, path)) = &definition;
        if let Some((_, known)) = self.done.get(name) {
            assert_eq!(known, path, "two types are called {name}");
            return;
        }
        // Types may hold themselves.
        self.done.insert(name.to_owned(), (String::new(), path.clone()));
        let path = path.clone();
        let text = match definition {
            Definition::Struct(item, _) => {
                let doc = doc(&item.attrs, "");
                match &item.fields {
                    Fields::Named(_) => {
                        let fields = self.fields(&item.fields, &path);
                        let short = format!("export interface {name} {{ {} }}", fields.join("; "));
                        match short.len() <= WIDTH {
                            true => format!("{doc}{short}\n"),
                            false => {
                                format!("{doc}export interface {name} {{\n  {}\n}}\n", fields.join("\n  "))
                            }
                        }
                    }
                    Fields::Unnamed(fields) if fields.unnamed.len() == 1 => {
                        let inner = self.ty(&fields.unnamed[0].ty, &path);
                        format!("{doc}export type {name} = {inner}\n")
                    }
                    _ => panic!("{name}: a struct without names"),
                }
            }
            Definition::Enum(item, _) => self.choice(name, &item, &path),
        };
        self.done.insert(name.to_owned(), (text, path));
    }

    fn choice(&mut self, name: &str, item: &ItemEnum, path: &Path) -> String {
        let serde = Serde::of(&item.attrs);
        let allowed = self.sources.allowed(name, path);
        let part = self.parts.iter().find(|(known, _)| *known == name).map(|(_, part)| *part);
        let is_seen = |variant: &&Variant| {
            let variant = variant.ident.to_string();
            allowed.as_ref().is_none_or(|allowed| allowed.contains(&variant))
                && part.is_none_or(|part| part.contains(&variant.as_str()))
        };
        let seen: Vec<&Variant> = item.variants.iter().filter(is_seen).collect();
        let is_plain = seen.iter().all(|variant| matches!(variant.fields, Fields::Unit));
        let cases: Vec<String> = seen.iter().map(|variant| self.variant(variant, &serde, path)).collect();
        let doc = doc(&item.attrs, "");
        if is_plain {
            return format!("{doc}export type {name} = {}\n", cases.join(" | "));
        }
        let lines = seen
            .iter()
            .zip(cases)
            .map(|(variant, case)| format!("{}  | {case}\n", self::doc(&variant.attrs, "  ")));
        format!("{doc}export type {name} =\n{}", lines.collect::<String>())
    }

    fn variant(&mut self, variant: &Variant, serde: &Serde, path: &Path) -> String {
        let name = renamed(&variant.ident.to_string(), serde.rename_all.as_deref());
        let inner = match &variant.fields {
            Fields::Unit => None,
            Fields::Named(_) => Some(format!("{{ {} }}", self.fields(&variant.fields, path).join("; "))),
            Fields::Unnamed(fields) if fields.unnamed.len() == 1 => {
                Some(self.field_type(&fields.unnamed[0], path))
            }
            Fields::Unnamed(_) => panic!("{name}: several values without names"),
        };
        match (&serde.tag, inner) {
            (None, Some(inner)) if serde.is_untagged => inner,
            (None, None) => format!("'{name}'"),
            (None, Some(inner)) => format!("{{ {name}: {inner} }}"),
            (Some(tag), None) => format!("{{ {tag}: '{name}' }}"),
            (Some(tag), Some(inner)) => format!("{{ {tag}: '{name}';{}", inner.strip_prefix('{').unwrap()),
        }
    }

    fn fields(&mut self, fields: &Fields, path: &Path) -> Vec<String> {
        let mut lines = Vec::new();
        for field in fields {
            let serde = Serde::of(&field.attrs);
            if serde.is_skipped {
                continue;
            }
            let (name, ty) = (field.ident.as_ref().unwrap(), self.field_type(field, path));
            lines.push(match serde.is_optional {
                // A value that is left out is not written as null.
                true => format!("{name}?: {}", ty.strip_suffix(" | null").unwrap_or(&ty)),
                false => format!("{name}: {ty}"),
            });
        }
        lines
    }

    fn field_type(&mut self, field: &Field, path: &Path) -> String {
        match Serde::of(&field.attrs).with.as_deref() {
            None | Some("cellist_platform::portable_path") => self.ty(&field.ty, path),
            Some(other) => panic!("it is not known how {other} writes"),
        }
    }

    fn ty(&mut self, ty: &Type, path: &Path) -> String {
        let Type::Path(ty) = ty else { panic!("a type without a name") };
        let last = ty.path.segments.last().unwrap();
        let mut inner = Vec::new();
        if let PathArguments::AngleBracketed(arguments) = &last.arguments {
            for argument in &arguments.args {
                if let GenericArgument::Type(argument) = argument {
                    inner.push(self.ty(argument, path));
                }
            }
        }
        let list = |inner: &str| match inner.contains(" | ") {
            true => format!("({inner})[]"),
            false => format!("{inner}[]"),
        };
        match (last.ident.to_string().as_str(), inner.as_slice()) {
            ("Box" | "Arc", [inner]) => inner.clone(),
            ("Option", [inner]) => format!("{inner} | null"),
            ("Vec" | "BTreeSet", [inner]) => list(inner),
            ("BTreeMap", [_, inner]) => format!("Record<string, {inner}>"),
            ("Result", [ok, error]) => format!("{{ Ok: {ok} }} | {{ Err: {error} }}"),
            (name, []) => match KNOWN.iter().find(|(known, _)| *known == name) {
                Some((_, known)) => (*known).to_owned(),
                None => {
                    self.add_from(name, Some(path));
                    name.to_owned()
                }
            },
            (name, _) => panic!("it is not known how {name} is written"),
        }
    }
}

impl Serde {
    fn of(attributes: &[Attribute]) -> Serde {
        let mut serde = Serde::default();
        for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("serde")) {
            attribute.parse_nested_meta(|meta| serde.take(&meta)).unwrap();
        }
        serde
    }

    fn take(&mut self, meta: &ParseNestedMeta<'_>) -> syn::Result<()> {
        let text = || meta.value()?.parse::<LitStr>().map(|text| text.value());
        match meta.path.get_ident().map(ToString::to_string).as_deref() {
            Some("rename_all") => self.rename_all = Some(text()?),
            Some("tag") => self.tag = Some(text()?),
            Some("with") => self.with = Some(text()?),
            Some("untagged") => self.is_untagged = true,
            Some("skip") => self.is_skipped = true,
            Some("skip_serializing_if") => {
                text()?;
                self.is_optional = true;
            }
            // Affects only reading.
            Some("default" | "deny_unknown_fields" | "transparent") => {}
            other => panic!("unsupported attribute serde({other:?})"),
        }
        Ok(())
    }
}

fn renamed(name: &str, rule: Option<&str>) -> String {
    match rule {
        None => name.to_owned(),
        Some("lowercase") => name.to_lowercase(),
        Some("snake_case") => {
            let mut text = String::new();
            for letter in name.chars() {
                if letter.is_uppercase() && !text.is_empty() {
                    text.push('_');
                }
                text.extend(letter.to_lowercase());
            }
            text
        }
        Some(other) => panic!("it is not known how {other} renames"),
    }
}

/// The first paragraph of the documentation, as a comment.
fn doc(attributes: &[Attribute], indent: &str) -> String {
    let line = |attribute: &Attribute| match &attribute.meta {
        syn::Meta::NameValue(meta) if meta.path.is_ident("doc") => match &meta.value {
            Expr::Lit(literal) => match &literal.lit {
                Lit::Str(text) => Some(text.value().trim().to_owned()),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    };
    let lines = attributes.iter().filter_map(line).take_while(|line| !line.is_empty());
    let lines: Vec<String> = lines.collect();
    match lines.is_empty() {
        true => String::new(),
        false => format!("{indent}/** {} */\n", lines.join(" ")),
    }
}
