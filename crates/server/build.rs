//! Embeds the built front end in the executable: compresses every file that `make page` writes and
//! records its content type and a content-derived ETag. If the front end has not been built, embeds
//! a page with build instructions instead, so the crate compiles without Node.

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};

/// Output directory of `make page`, relative to this crate.
const BUILT: &str = "../../target/page/dist";
/// Page served in place of both documents if the front end has not been built.
const UNBUILT: &str = "src/pages/unbuilt.html";
const DOCUMENTS: [&str; 2] = ["index.html", "dashboard.html"];
const FILES_MAX: usize = 200;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-env-changed=CHANDLER_PAGE_DIR");
    println!("cargo::rerun-if-env-changed=CHANDLER_PAGE_REQUIRED");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={UNBUILT}");
    let here = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR")?);
    let folder = match std::env::var_os("CHANDLER_PAGE_DIR") {
        Some(folder) => PathBuf::from(folder),
        None => {
            let folder = here.join(BUILT);
            // Cargo considers a missing path changed on every build. An empty directory only
            // becomes changed when a file is added.
            fs::create_dir_all(&folder).ok();
            folder
        }
    };
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut files = Vec::new();
    if folder.is_dir() {
        gather(&folder, "", &mut files)?;
    }
    files.sort();
    let is_built = DOCUMENTS.iter().all(|name| files.iter().any(|(path, _)| path == &format!("/{name}")));
    if !is_built {
        let missing = format!("the page is not in {}: run `make page`, then build again", folder.display());
        if std::env::var("CHANDLER_PAGE_REQUIRED").is_ok_and(|value| value == "1") {
            return Err(missing.into());
        }
        println!("cargo::warning={missing}");
        files = DOCUMENTS.iter().map(|name| (format!("/{name}"), here.join(UNBUILT))).collect();
    }
    write_table(&files)
}

/// Collects every file under `folder`, keyed by URL path.
fn gather(folder: &Path, above: &str, files: &mut Vec<(String, PathBuf)>) -> Result<(), Box<dyn Error>> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name =
            entry.file_name().into_string().map_err(|name| format!("{name:?} cannot be an address"))?;
        let path = format!("{above}/{name}");
        if entry.file_type()?.is_dir() {
            gather(&entry.path(), &path, files)?;
        } else {
            files.push((path, entry.path()));
        }
        if files.len() > FILES_MAX {
            return Err(format!("more than {FILES_MAX} files: {} is not the page", folder.display()).into());
        }
    }
    Ok(())
}

fn write_table(files: &[(String, PathBuf)]) -> Result<(), Box<dyn Error>> {
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    let mut table = String::from("pub(crate) const ASSETS: &[Asset] = &[\n");
    for (number, (path, file)) in files.iter().enumerate() {
        let bytes = fs::read(file)?;
        let packed = out.join(format!("{number}.gz"));
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(&bytes)?;
        fs::write(&packed, encoder.finish()?)?;
        let tag: String = Sha256::digest(&bytes).iter().take(12).map(|byte| format!("{byte:02x}")).collect();
        writeln!(
            table,
            "    Asset {{ path: {path:?}, content_type: {:?}, gzip: include_bytes!({packed:?}), length: {}, tag: {tag:?} }},",
            content_type(path),
            bytes.len(),
        )?;
    }
    table.push_str("];\n");
    fs::write(out.join("assets.rs"), table)?;
    Ok(())
}

fn content_type(path: &str) -> &'static str {
    match path.rsplit('.').next().unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "json" | "webmanifest" => "application/json; charset=utf-8",
        "txt" => "text/plain; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "woff2" => "font/woff2",
        _ => "application/octet-stream",
    }
}
