//! The committed Rust of `proto/` is what the generator makes of it. `UPDATE_EXPECT=1` writes it anew.

use std::fs;
use std::path::Path;

use prost_build::{Config, Module};

#[test]
fn the_committed_messages_are_those_of_the_proto_files() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let names = ["control", "quote", "trade"];
    let files =
        protox::compile(names.map(|name| format!("{name}.proto")), [root.join("proto")]).unwrap().file;
    let requests = files.into_iter().map(|file| (Module::from_protobuf_package_name(file.package()), file));
    let generated = Config::new()
        // The same message is the same bytes every time.
        .btree_map(["."])
        // These hold secrets; `src/secret.rs` shows them without.
        .skip_debug(["AuthRequest", "AuthResponse", "ReconnectRequest", "ReconnectResponse"])
        // The HTTP form is the same messages under the same names; what is not there has its default.
        .message_attribute(".quote", "#[derive(::serde::Serialize, ::serde::Deserialize)] #[serde(default)]")
        .message_attribute(".trade", "#[derive(::serde::Serialize, ::serde::Deserialize)] #[serde(default)]")
        .generate(requests.collect())
        .unwrap();
    assert_eq!(generated.len(), names.len());
    for name in names {
        let path = root.join("src/generated").join(format!("{name}.rs"));
        let code = &generated[&Module::from_protobuf_package_name(name)];
        let expected =
            format!("// Generated from proto/{name}.proto by tests/generated.rs; do not edit.\n\n{code}");
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            fs::write(&path, &expected).unwrap();
        }
        let committed = fs::read_to_string(&path).unwrap();
        assert!(committed == expected, "{name}.rs is not what its proto file says; run with UPDATE_EXPECT=1");
    }
}
