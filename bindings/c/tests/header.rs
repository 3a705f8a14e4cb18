//! `include/dolium.h` is what the sources say. `DOLIUM_WRITE_HEADER=1` writes it anew.

use std::path::Path;

#[test]
fn the_header_is_generated_from_these_sources() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(folder.join("cbindgen.toml")).unwrap();
    let mut builder = cbindgen::Builder::new().with_config(config);
    for name in ["error", "pointers", "store", "read", "execute"] {
        builder = builder.with_src(folder.join(format!("src/{name}.rs")));
    }
    let mut generated = Vec::new();
    builder.generate().expect("the sources are understood").write(&mut generated);
    let generated = String::from_utf8(generated).unwrap();
    let path = folder.join("../../include/dolium.h");
    if std::env::var_os("DOLIUM_WRITE_HEADER").is_some() {
        std::fs::write(&path, &generated).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == generated,
        "include/dolium.h is old: DOLIUM_WRITE_HEADER=1 cargo test -p dolium-c"
    );
}
