//! The arrows between our crates, kept honest by the build's own metadata, and those between the files of each crate.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use crate::import_circles::circles;

/// Files that import each other in a circle are read together or not at all; of so many a reader can still do that.
const CIRCLE_MAX: usize = 3;

#[test]
fn arrows_point_only_downwards() {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
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
        ("trading", &["market"]),
        ("block", &["market"]),
        ("files", &["market"]),
        ("store", &["market"]),
        ("trading", &["market"]),
        ("history", &["block", "files", "market", "store"]),
        ("access", &["market", "store"]),
        ("paper", &["history", "market", "store", "trading"]),
        ("server", &["access", "files", "history", "market", "paper", "store", "trading", "wire"]),
        (
            "chandler",
            &["access", "block", "files", "history", "market", "paper", "server", "store", "trading", "wire"],
        ),
    ];
    for (name, to) in drawn {
        let unexpected: Vec<&&str> = arrows[name].iter().filter(|arrow| !to.contains(arrow)).collect();
        assert!(unexpected.is_empty(), "{name} leans on {unexpected:?}, which ARCHITECTURE.md does not draw");
    }
}

#[test]
fn no_more_than_three_files_import_each_other_in_a_circle() {
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

/// The groups of endpoints are made of the kit, and know each other as little as two crates would.
#[test]
fn groups_of_endpoints_do_not_import_each_other() {
    let http = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("server/src/http");
    let folders = std::fs::read_dir(&http).unwrap().map(|entry| entry.unwrap());
    let groups: Vec<String> = folders
        .filter(|entry| entry.file_type().unwrap().is_dir())
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    assert!(groups.len() >= 7, "{groups:?}");
    for group in &groups {
        for file in std::fs::read_dir(http.join(group)).unwrap() {
            let path = file.unwrap().path();
            let text = std::fs::read_to_string(&path).unwrap();
            for other in groups.iter().filter(|other| *other != group) {
                let is_import = |part: &String| {
                    let mut names = part.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
                    let is_outward = part.contains("crate::http::")
                        || part.contains("super::super::")
                        || (path.ends_with("mod.rs") && part.contains("super::"));
                    is_outward && names.any(|name| name == other)
                };
                // An import ends with a semicolon, and may stand on several lines.
                let imports = text.split(';').filter_map(|part| Some(part.split_once("use ")?.1.to_owned()));
                let found = imports.into_iter().find(is_import);
                assert!(found.is_none(), "{} imports {found:?}", path.display());
            }
        }
    }
}
