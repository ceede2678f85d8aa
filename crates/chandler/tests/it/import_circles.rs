//! Finds import cycles between the files of a crate, from their syntax trees.
//!
//! An import is attributed to the file that *defines* the item, whichever re-export it uses, so
//! that a `lib.rs` with only re-exports is in no cycle. Re-exports and `#[cfg(test)]` code are
//! ignored. Method calls are not imports.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Component, Path, PathBuf};

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, Item, Meta, UseTree, Visibility};

/// Path of a module. Empty for the crate root.
type ModulePath = Vec<String>;

/// Files in an import cycle, and the imports between them.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Circle {
    pub(crate) files: Vec<String>,
    /// Imports in the form `importing file: path as written -> defining file`.
    pub(crate) imports: Vec<String>,
}

/// Returns the import cycles among the modules below `root` (`lib.rs` or `main.rs`), largest first.
/// `read` returns a file's text, or `None` if the file does not exist.
pub(crate) fn circles(root: &str, read: &dyn Fn(&Path) -> Option<String>) -> Vec<Circle> {
    let mut sources = Sources { read, modules: BTreeMap::new() };
    sources.add_file(Path::new(root), Vec::new());
    let imports = sources.imports();
    let mut arrows: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for import in &imports {
        arrows.entry(&import.from).or_default().insert(&import.to);
    }
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        arrows.keys().map(|file| (*file, reachable(file, &arrows))).collect();
    let mut circles: Vec<Circle> = Vec::new();
    for (file, reach) in &reached {
        let is_mutual = |other: &&&str| reached.get(**other).is_some_and(|back| back.contains(file));
        let files: Vec<String> = reach.iter().filter(is_mutual).map(|other| (*other).to_owned()).collect();
        if files.is_empty() || circles.iter().any(|known| known.files == files) {
            continue;
        }
        let within = |import: &&Import| files.contains(&import.from) && files.contains(&import.to);
        let lines: BTreeSet<String> = imports.iter().filter(within).map(Import::to_string).collect();
        circles.push(Circle { files, imports: lines.into_iter().collect() });
    }
    circles.sort_by_key(|circle| std::cmp::Reverse(circle.files.len()));
    circles
}

/// Returns every import between the files below `root`, including re-exports.
pub(crate) fn imports(root: &str, read: &dyn Fn(&Path) -> Option<String>) -> Vec<Import> {
    let mut sources = Sources { read, modules: BTreeMap::new() };
    sources.add_file(Path::new(root), Vec::new());
    for module in sources.modules.values_mut() {
        let exported = module.names.iter().filter(|(name, _)| !module.imported.contains(*name));
        let exported: Vec<Vec<String>> = exported.map(|(_, path)| path.clone()).collect();
        module.paths.extend(exported);
    }
    sources.imports()
}

/// Returns the files reachable from a file, including the file itself if it is in a cycle.
fn reachable<'a>(from: &str, arrows: &BTreeMap<&str, BTreeSet<&'a str>>) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut next: Vec<&str> = vec![from];
    while let Some(file) = next.pop() {
        for to in arrows.get(file).into_iter().flatten() {
            if reached.insert(*to) {
                next.push(to);
            }
        }
    }
    reached
}

/// Dependency of a file on an item that is defined in another file.
#[derive(Debug)]
pub(crate) struct Import {
    pub(crate) from: String,
    written: String,
    /// File that defines the item.
    pub(crate) to: String,
}

impl fmt::Display for Import {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} -> {}", self.from, self.written, self.to)
    }
}

/// Module in a separate file, or an inline module.
#[derive(Default)]
struct Module {
    file: String,
    /// Names that are bound by `use` declarations, with their paths.
    names: BTreeMap<String, Vec<String>>,
    /// Names that are imported but not re-exported.
    imported: BTreeSet<String>,
    /// Paths in the module's code and imports.
    paths: Vec<Vec<String>>,
}

struct Sources<'a> {
    read: &'a dyn Fn(&Path) -> Option<String>,
    modules: BTreeMap<ModulePath, Module>,
}

impl Sources<'_> {
    fn add_file(&mut self, file: &Path, path: ModulePath) {
        let text =
            (self.read)(file).unwrap_or_else(|| panic!("{} is declared and not there", file.display()));
        let tree = syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let folder = file.parent().unwrap_or(Path::new(""));
        let stem = file.file_stem().unwrap_or_default();
        let children = if path.is_empty() || stem == "mod" { folder.to_owned() } else { folder.join(stem) };
        self.add_items(&tree.items, file, &children, path);
    }

    /// Adds a module's items. `children` is the folder of child modules that have no `#[path]`
    /// attribute.
    fn add_items(&mut self, items: &[Item], file: &Path, children: &Path, path: ModulePath) {
        let mut module = Module { file: slashed(file), ..Module::default() };
        let mut below = Vec::new();
        for item in items {
            match item {
                Item::Use(item) if !is_test(&item.attrs) => {
                    let is_import = matches!(item.vis, Visibility::Inherited);
                    module.add_use(&item.tree, &mut Vec::new(), is_import);
                }
                Item::Mod(item) if !is_test(&item.attrs) => below.push(item),
                item => Paths { found: &mut module.paths }.visit_item(item),
            }
        }
        self.modules.insert(path.clone(), module);
        for item in below {
            let name = item.ident.to_string();
            let path = [path.clone(), vec![name.clone()]].concat();
            match (&item.content, path_attribute(&item.attrs)) {
                (Some((_, items)), _) => self.add_items(items, file, &children.join(&name), path),
                (None, Some(given)) => {
                    let folder = file.parent().unwrap_or(Path::new(""));
                    self.add_file(&folder.join(given), path);
                }
                (None, None) => {
                    let flat = children.join(format!("{name}.rs"));
                    let nested = children.join(&name).join("mod.rs");
                    let is_flat = (self.read)(&flat).is_some();
                    self.add_file(if is_flat { &flat } else { &nested }, path);
                }
            }
        }
    }

    fn imports(&self) -> Vec<Import> {
        let mut imports = Vec::new();
        for (path, module) in &self.modules {
            for written in module.paths.iter().filter(|written| !self.is_of_import(path, written)) {
                if let Some(to) = self.resolve(path, written, 0).filter(|to| *to != module.file) {
                    let import = Import { from: module.file.clone(), written: written.join("::"), to };
                    imports.push(import);
                }
            }
        }
        imports
    }

    /// Returns whether a path begins with an imported item, such as `Check::new` after `use Check`.
    /// Such a path was already counted with its `use` declaration.
    fn is_of_import(&self, from: &[String], path: &[String]) -> bool {
        let [first, _, ..] = path else { return false };
        let is_import = self.modules.get(from).is_some_and(|module| module.imported.contains(first));
        is_import && self.resolve(from, std::slice::from_ref(first), 0).is_some()
    }

    /// Returns the file that defines an item. `None` for modules and for items of other crates.
    fn resolve(&self, from: &[String], path: &[String], depth: u32) -> Option<String> {
        // The depth is limited, because re-exports may refer to each other.
        if depth > 16 {
            return None;
        }
        let (first, rest) = path.split_first()?;
        match first.as_str() {
            "crate" => self.walk(&[], rest, depth),
            "self" => self.walk(from, rest, depth),
            "super" => {
                let (_, parent) = from.split_last()?;
                if rest.first().is_some_and(|next| next == "super") {
                    return self.resolve(parent, rest, depth);
                }
                self.walk(parent, rest, depth)
            }
            name if self.knows(from, name) => self.walk(from, path, depth),
            _ => None,
        }
    }

    fn knows(&self, module: &[String], name: &str) -> bool {
        self.modules.contains_key(&child(module, name))
            || self.modules.get(module).is_some_and(|module| module.names.contains_key(name))
    }

    /// Descends from a module through children and imports to the module that defines the item.
    fn walk(&self, module: &[String], path: &[String], depth: u32) -> Option<String> {
        let (name, rest) = path.split_first()?;
        let below = child(module, name);
        if self.modules.contains_key(&below) {
            return self.walk(&below, rest, depth);
        }
        let here = self.modules.get(module)?;
        if let Some(target) = here.names.get(name) {
            return self.resolve(module, &[target.as_slice(), rest].concat(), depth + 1);
        }
        Some(here.file.clone())
    }
}

impl Module {
    fn add_use(&mut self, tree: &UseTree, before: &mut Vec<String>, is_import: bool) {
        let mut bind = |name: String, path: Vec<String>| {
            if is_import {
                self.paths.push(path.clone());
                self.imported.insert(name.clone());
            }
            self.names.insert(name, path);
        };
        match tree {
            UseTree::Path(part) => {
                before.push(part.ident.to_string());
                self.add_use(&part.tree, before, is_import);
                before.pop();
            }
            UseTree::Name(name) if name.ident == "self" => {
                if let Some(last) = before.last() {
                    bind(last.clone(), before.clone());
                }
            }
            UseTree::Name(name) => {
                let name = name.ident.to_string();
                bind(name.clone(), [before.as_slice(), &[name]].concat());
            }
            UseTree::Rename(name) if name.ident == "self" => bind(name.rename.to_string(), before.clone()),
            UseTree::Rename(name) => {
                bind(name.rename.to_string(), [before.as_slice(), &[name.ident.to_string()]].concat());
            }
            // A glob import is attributed to the module's file.
            UseTree::Glob(_) if is_import => self.paths.push([before.as_slice(), &["*".to_owned()]].concat()),
            UseTree::Glob(_) => {}
            UseTree::Group(group) => {
                group.items.iter().for_each(|tree| self.add_use(tree, before, is_import));
            }
        }
    }
}

/// Collects the paths in the code of an item.
struct Paths<'a> {
    found: &'a mut Vec<Vec<String>>,
}

impl Paths<'_> {
    /// Adds the paths in unparsed tokens: macro bodies and attribute arguments.
    fn add_tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(name) => {
                    if colons != 2 {
                        self.add(std::mem::take(&mut path));
                    }
                    path.push(name.to_string());
                    colons = 0;
                }
                TokenTree::Punct(mark) if mark.as_char() == ':' && !path.is_empty() => colons += 1,
                other => {
                    self.add(std::mem::take(&mut path));
                    colons = 0;
                    if let TokenTree::Group(group) = other {
                        self.add_tokens(group.stream());
                    }
                }
            }
        }
        self.add(path);
    }

    /// Adds a path. A single name is skipped, because it is defined in the same module or was
    /// counted with its `use` declaration.
    fn add(&mut self, path: Vec<String>) {
        if path.len() > 1 {
            self.found.push(path);
        }
    }
}

impl<'ast> Visit<'ast> for Paths<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        if !is_test(attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if !is_test(&item.attrs) {
            visit::visit_impl_item_fn(self, item);
        }
    }

    /// Visits a `use` declaration inside a function.
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let mut module = Module::default();
        module.add_use(&item.tree, &mut Vec::new(), true);
        self.found.extend(module.paths);
    }

    /// Ignores the path in `pub(in path)`, which is not a dependency.
    fn visit_visibility(&mut self, _: &'ast Visibility) {}

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.leading_colon.is_none() {
            self.add(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, item: &'ast syn::Macro) {
        self.add_tokens(item.tokens.clone());
        visit::visit_macro(self, item);
    }

    fn visit_meta_list(&mut self, list: &'ast syn::MetaList) {
        self.add_tokens(list.tokens.clone());
    }
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// Returns whether an item is compiled only for tests: `#[cfg(test)]` or `#[cfg(all(test, …))]`.
fn is_test(attributes: &[Attribute]) -> bool {
    fn wants_test(meta: &Meta) -> bool {
        match meta {
            Meta::Path(path) => path.is_ident("test"),
            Meta::List(list) if list.path.is_ident("all") => {
                let parts = syn::punctuated::Punctuated::<Meta, syn::Token![,]>::parse_terminated;
                list.parse_args_with(parts).is_ok_and(|parts| parts.iter().any(wants_test))
            }
            _ => false,
        }
    }
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg") && attribute.parse_args::<Meta>().is_ok_and(|meta| wants_test(&meta))
    })
}

/// Returns the path in a `#[path = "…"]` attribute, or `None` if there is no such attribute.
fn path_attribute(attributes: &[Attribute]) -> Option<PathBuf> {
    attributes.iter().filter(|attribute| attribute.path().is_ident("path")).find_map(|attribute| {
        let Meta::NameValue(pair) = &attribute.meta else { return None };
        let syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) = &pair.value else { return None };
        Some(PathBuf::from(text.value()))
    })
}

fn child(module: &[String], name: &str) -> ModulePath {
    [module, &[name.to_owned()]].concat()
}

/// Formats a path with forward slashes on every system, for printing.
fn slashed(file: &Path) -> String {
    let parts: Vec<String> = file
        .components()
        .filter(|part| *part != Component::CurDir)
        .map(|part| part.as_os_str().to_string_lossy().into_owned())
        .collect();
    parts.join("/")
}

/// Returns the import cycles of a source tree given as pairs of file name and text.
fn made_up(files: &[(&str, &str)]) -> Vec<Circle> {
    let read = |path: &Path| {
        files.iter().find(|(name, _)| *name == slashed(path)).map(|(_, text)| (*text).to_owned())
    };
    circles("lib.rs", &read)
}

#[test]
fn imports_are_attributed_to_the_defining_file() {
    // `lib.rs` re-exports `A` and `Error`. `error` is used through `lib.rs`, and `b` through a
    // module that imports it privately.
    let found = made_up(&[
        ("lib.rs", "mod a; mod b; mod error; pub use a::A; pub use error::Error;"),
        ("a.rs", "use crate::{Error, b}; pub struct A; fn make() -> Result<b::B, Error> { todo!() }"),
        ("b.rs", "use crate::A; pub struct B(A); fn make() -> A { A::new() }"),
        ("error.rs", "pub struct Error;"),
    ]);
    let imports = ["a.rs: b::B -> b.rs", "b.rs: crate::A -> a.rs"].map(str::to_owned).to_vec();
    assert_eq!(found, [Circle { files: vec!["a.rs".to_owned(), "b.rs".to_owned()], imports }]);
}

#[test]
fn modules_are_found_in_folders_inline_and_by_path() {
    let found = made_up(&[
        ("lib.rs", "mod outer; #[path = \"elsewhere/x.rs\"] mod moved;"),
        ("outer/mod.rs", "mod inner; mod words { use super::inner::Inner; } pub(crate) struct Outer;"),
        ("outer/inner.rs", "use super::super::moved::deep::Deep; pub struct Inner;"),
        ("elsewhere/x.rs", "pub(crate) mod deep { use crate::outer::Outer; pub struct Deep; }"),
    ]);
    let files = ["elsewhere/x.rs", "outer/inner.rs", "outer/mod.rs"].map(str::to_owned).to_vec();
    assert_eq!(found.iter().map(|circle| &circle.files).collect::<Vec<_>>(), [&files]);
}

#[test]
fn paths_in_macros_attributes_and_globs_are_imports() {
    let circle_of = |text: &str| {
        let files =
            [("lib.rs", "mod a; mod b;"), ("a.rs", text), ("b.rs", "use crate::a::A; pub const B: A = A;")];
        !made_up(&files).is_empty()
    };
    for text in [
        "fn show() { println!(\"{}\", crate::b::B) }",
        "#[arg(value_parser = crate::b::parse)] struct Arguments;",
        "use crate::b::*;",
        "fn inside() { use crate::b::B; }",
        "impl crate::b::Trait for A {}",
    ] {
        assert!(circle_of(text), "{text}");
    }
    for text in [
        "#[cfg(test)] mod tests { use crate::b::B; }",
        "#[cfg(test)] use crate::b::B;",
        "#[cfg(all(test, unix))] fn check() { crate::b::check() }",
        "impl A { #[cfg(test)] fn check() { crate::b::check() } }",
        "pub use crate::b::B;",
        "pub(in crate::b) struct A;",
        "use b::B; fn f() { b::g() }",
    ] {
        assert!(!circle_of(text), "{text}");
    }
}
