//! Tests of the dependencies between the workspace's crates, from `cargo metadata`, and between the
//! files of each crate.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::import_circles::{Import, circles, imports};

/// Maximum number of files in an import cycle. The files of a cycle can only be understood
/// together.
const CIRCLE_MAX: usize = 3;
/// Maximum number of lines in the server's source that read the market clock.
const CLOCK_READS_MAX: usize = 15;

#[test]
fn dependencies_point_only_downwards() {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    // Packages outside `crates/` are tools. They may depend on any crate, and no crate depends on
    // them.
    let is_drawn = |package: &&serde_json::Value| {
        let manifest = package["manifest_path"].as_str().unwrap();
        Path::new(manifest).ancestors().nth(2).is_some_and(|folder| folder.ends_with("crates"))
    };
    let packages: Vec<&serde_json::Value> =
        metadata["packages"].as_array().unwrap().iter().filter(is_drawn).collect();
    let ours: Vec<&str> = packages.iter().map(|package| package["name"].as_str().unwrap()).collect();
    let mut arrows: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for package in packages {
        let mut to: Vec<&str> = package["dependencies"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|dependency| dependency["kind"].is_null())
            .map(|dependency| dependency["name"].as_str().unwrap())
            .filter(|name| ours.contains(name))
            .collect();
        to.sort_unstable();
        arrows.insert(package["name"].as_str().unwrap(), to);
    }
    let drawn = [
        ("market", &[][..]),
        ("wire", &[]),
        ("block", &["market"]),
        ("files", &["market"]),
        ("store", &["market"]),
        ("trading", &["market"]),
        ("feed", &["market"]),
        ("world", &["market"]),
        ("mirror", &["market"]),
        ("history", &["block", "feed", "files", "market", "store"]),
        ("access", &["market", "store"]),
        ("paper", &["history", "market", "store", "trading"]),
        ("social", &["market", "store"]),
        ("source", &["market", "wire"]),
        ("collect", &["feed", "history", "market", "mirror", "source", "store"]),
        (
            "server",
            &[
                "access", "collect", "feed", "files", "history", "market", "mirror", "paper", "social",
                "store", "trading", "wire", "world",
            ],
        ),
        (
            "chandler",
            &[
                "access", "block", "collect", "files", "history", "market", "mirror", "paper", "server",
                "social", "source", "store", "trading", "wire",
            ],
        ),
    ];
    let drawn: BTreeMap<&str, Vec<&str>> = drawn.map(|(name, to)| (name, to.to_vec())).into();
    assert_eq!(arrows, drawn, "ARCHITECTURE.md draws other arrows than there are");
}

#[test]
fn import_cycles_have_at_most_three_files() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut complaints = Vec::new();
    for folder in std::fs::read_dir(crates).unwrap() {
        let folder = folder.unwrap();
        let name = folder.file_name().into_string().unwrap();
        let source = folder.path().join("src");
        let root = if source.join("lib.rs").exists() { "lib.rs" } else { "main.rs" };
        let found = circles(root, &|file| std::fs::read_to_string(source.join(file)).ok());
        for circle in found.iter().filter(|circle| circle.files.len() > CIRCLE_MAX) {
            complaints.push(format!(
                "{} files of {name} import each other in a circle: {}\nMove what they share into a file below them. \
                 The imports:\n  {}",
                circle.files.len(),
                circle.files.join(", "),
                circle.imports.join("\n  ")
            ));
        }
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n\n"));
}

/// Modules of `store` from the lowest to the highest layer. `lib.rs` re-exports items from all of
/// them.
const STORE: [&str; 10] =
    ["ids", "engine", "candles", "cluster", "accounts", "trading", "social", "backup", "transfer", "survey"];

#[test]
fn store_modules_import_only_lower_modules() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("store/src");
    let imports = imports("lib.rs", &|file| std::fs::read_to_string(source.join(file)).ok());
    let layer = |file: &str| {
        let module = file.split('/').next().unwrap().trim_end_matches(".rs");
        STORE.iter().position(|name| *name == module).unwrap_or_else(|| panic!("{file} has no layer"))
    };
    let upwards = imports.iter().filter(|import| import.from != "lib.rs");
    let upwards = upwards.filter(|import| layer(&import.from) < layer(&import.to));
    let upwards: Vec<String> = upwards.map(Import::to_string).collect();
    assert!(upwards.is_empty(), "{}", upwards.join("\n"));
}

/// ARCHITECTURE.md lists the modules of `server` in layers, the highest one first. A line of the list
/// has the names of modules, then at least two spaces and a description.
#[test]
fn server_modules_import_only_lower_layers() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let architecture = std::fs::read_to_string(crates.with_file_name("ARCHITECTURE.md")).unwrap();
    let list = architecture.split("```layers\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let mut layers: BTreeMap<&str, usize> = BTreeMap::new();
    for (depth, line) in list.lines().enumerate() {
        for name in line.split("  ").next().unwrap().split(' ') {
            assert_eq!(layers.insert(name, depth), None, "{name} is in two lines");
        }
    }
    let source = crates.join("server/src");
    let imports = imports("lib.rs", &|file| std::fs::read_to_string(source.join(file)).ok());
    let found = against_layers(&layers, &imports);
    assert!(found.is_empty(), "{}", found.join("\n"));
    let exists = |name: &&&str| source.join(name).exists() || source.join(format!("{name}.rs")).exists();
    let gone: Vec<&&str> = layers.keys().filter(|name| !exists(name)).collect();
    assert!(gone.is_empty() && layers.len() > 40, "ARCHITECTURE.md lists unknown modules: {gone:?}");
}

/// Returns the top-level module of a file.
fn module(file: &str) -> &str {
    file.split('/').next().unwrap_or_default().trim_end_matches(".rs")
}

/// Returns the imports of a module from another one in the same or a higher layer, and files without
/// a layer. `lib.rs` only re-exports.
fn against_layers(layers: &BTreeMap<&str, usize>, imports: &[Import]) -> Vec<String> {
    let mut found = Vec::new();
    for import in imports.iter().filter(|import| import.from != "lib.rs" && import.to != "lib.rs") {
        let (from, to) = (module(&import.from), module(&import.to));
        match (layers.get(from), layers.get(to)) {
            _ if from == to => {}
            (Some(above), Some(below)) if above < below => {}
            (Some(_), Some(_)) => found.push(import.to_string()),
            (from, to) => found.push(format!("{import}: no layer ({from:?}, {to:?})")),
        }
    }
    found
}

#[test]
fn an_import_of_a_higher_or_unlisted_module_is_found() {
    let read = |path: &Path| match path.to_str().unwrap() {
        "lib.rs" => Some("mod top; mod left; mod right; mod unlisted;".to_owned()),
        "top.rs" => Some("use crate::left::Left; pub(crate) struct Top;".to_owned()),
        "left.rs" => Some("use crate::right::Right; use crate::top::Top; pub(crate) struct Left;".to_owned()),
        "right.rs" => Some("use crate::unlisted::Other; pub(crate) struct Right;".to_owned()),
        "unlisted.rs" => Some("pub(crate) struct Other;".to_owned()),
        _ => None,
    };
    let layers = BTreeMap::from([("top", 0), ("left", 1), ("right", 1)]);
    assert_eq!(against_layers(&layers, &imports("lib.rs", &read)).len(), 3);
}

/// Endpoint groups and pages may depend on the kit, but not on each other, as if each group were a
/// crate.
#[test]
fn endpoint_groups_do_not_import_each_other() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("server/src");
    let imports = imports("lib.rs", &|file| std::fs::read_to_string(source.join(file)).ok());
    let groups: BTreeSet<&str> = imports.iter().filter_map(|import| group(&import.from)).collect();
    assert!(groups.len() >= 10 && groups.contains("pages") && groups.contains("quote"), "{groups:?}");
    let found = between_groups(&imports);
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// A request handler gets the market time from its caller. Only jobs, pages, monitoring, signed
/// links, the publisher of quotes and event streams, which have no caller, may read the clock.
#[test]
fn the_market_clock_is_read_in_few_places() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("server/src");
    let mut reads = Vec::new();
    for file in files(&source) {
        let text = std::fs::read_to_string(&file).unwrap();
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
        for line in code.lines().filter(|line| !line.contains("fn market_now")) {
            let calls = ["market_now(", "market_now_of(", "market.as_of(", "market_clock().as_of("];
            if calls.iter().any(|call| line.contains(call)) {
                reads.push(format!("{}: {}", file.strip_prefix(&source).unwrap().display(), line.trim()));
            }
        }
    }
    assert!((1..=CLOCK_READS_MAX).contains(&reads.len()), "{}:\n{}", reads.len(), reads.join("\n"));
}

/// A module with children is the file `mod.rs` of its folder.
#[test]
fn no_module_file_is_next_to_its_folder() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut seen = 0;
    let mut beside = Vec::new();
    for of_crate in std::fs::read_dir(crates).unwrap() {
        for file in files(&of_crate.unwrap().path().join("src")) {
            seen += 1;
            if file.with_extension("").is_dir() {
                beside.push(file);
            }
        }
    }
    assert!(seen > 500, "{seen}");
    assert!(beside.is_empty(), "{beside:?}");
}

/// Returns the source files below a folder, except test files.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs")
            && !path.to_str().unwrap().ends_with("tests.rs")
            && !path.to_str().unwrap().ends_with("tests/mod.rs")
        {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Returns the endpoint group of a file: its folder below `http`, or `pages`. `None` for other
/// files.
fn group(file: &str) -> Option<&str> {
    let mut parts = file.split('/');
    match (parts.next()?, parts.next()?, parts.next()) {
        ("http", group, Some(_)) => Some(group),
        ("pages", _, _) => Some("pages"),
        _ => None,
    }
}

fn between_groups(imports: &[Import]) -> Vec<String> {
    let is_between = |import: &&Import| match (group(&import.from), group(&import.to)) {
        (Some(from), Some(to)) => from != to,
        _ => false,
    };
    imports.iter().filter(is_between).map(Import::to_string).collect()
}

#[test]
fn an_import_between_groups_is_found_in_every_syntax() {
    for (file, line) in [
        ("http/quote/candles.rs", "use crate::http::udf::Ticker;"),
        ("http/quote/candles.rs", "use super::super::udf::{self, Ticker};"),
        ("http/quote/candles.rs", "fn ask() { crate::http::udf::Ticker::new(); }"),
        ("http/quote/mod.rs", "pub(crate) use super::udf::Ticker;"),
        ("http/quote/mod.rs", "use crate::pages::PATH;"),
        ("pages/mod.rs", "use crate::http; fn ask(_: http::udf::Ticker) {}"),
    ] {
        let read = |path: &Path| {
            let path = path.to_str().unwrap();
            let text = match path {
                "lib.rs" => "mod http; mod pages;",
                "http/mod.rs" => "mod quote; mod udf;",
                "http/quote/mod.rs" => "mod candles;",
                "http/quote/candles.rs" => "",
                "http/udf/mod.rs" => "pub(crate) struct Ticker;",
                "pages/mod.rs" => "pub(crate) const PATH: &str = \"/\";",
                _ => return None,
            };
            Some(if path == file { format!("{text} {line}") } else { text.to_owned() })
        };
        assert_eq!(between_groups(&imports("lib.rs", &read)).len(), 1, "{file}: {line}");
    }
}
