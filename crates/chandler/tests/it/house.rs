//! The arrows between our crates, kept honest by the build's own metadata.

use std::collections::BTreeMap;
use std::process::Command;

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
        ("block", &["market"]),
        ("files", &["market"]),
        ("store", &["market"]),
        ("history", &["block", "files", "market", "store"]),
        ("access", &["market", "store"]),
        ("server", &["access", "files", "history", "market", "store", "wire"]),
        ("chandler", &["access", "block", "files", "history", "market", "server", "store", "wire"]),
    ];
    for (name, to) in drawn {
        let unexpected: Vec<&&str> = arrows[name].iter().filter(|arrow| !to.contains(arrow)).collect();
        assert!(unexpected.is_empty(), "{name} leans on {unexpected:?}, which ARCHITECTURE.md does not draw");
    }
}
