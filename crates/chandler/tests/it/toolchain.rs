//! One compiler for all builds: `rust-toolchain.toml` names it, and files for tools that cannot
//! read it name the same.

use std::fs;
use std::path::Path;

fn read(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file);
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{file}: {error}"))
}

#[test]
fn one_compiler_is_named_everywhere() {
    let toolchain: toml::Table = toml::from_str(&read("rust-toolchain.toml")).unwrap();
    let manifest: toml::Table = toml::from_str(&read("Cargo.toml")).unwrap();
    let channel = toolchain["toolchain"]["channel"].as_str().unwrap();
    let oldest = manifest["workspace"]["package"]["rust-version"].as_str().unwrap();
    assert!(channel.starts_with(&format!("{oldest}.")), "{channel} is not a release of {oldest}");
    for (file, words) in [
        ("packaging/docker/Dockerfile", format!("FROM rust:{channel}-")),
        (".github/workflows/ci.yml", format!("image: rust:{channel}-")),
        (".github/workflows/release.yml", format!("image: rust:{channel}-")),
        ("README.md", format!("Rust ({oldest} or newer")),
    ] {
        assert!(read(file).contains(&words), "{file} does not say {words:?}");
    }
}
