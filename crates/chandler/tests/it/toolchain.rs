//! Checks that all builds use the same compiler. `rust-toolchain.toml` defines the version, and
//! files of tools that cannot read it must contain the same version.

use std::fs;
use std::path::Path;

fn read(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file);
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{file}: {error}"))
}

#[test]
fn all_builds_use_the_same_compiler() {
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
