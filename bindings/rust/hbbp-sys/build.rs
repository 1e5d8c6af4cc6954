//! Finds libhbbp: in the directory `HBBP_LIB_DIR`, else by pkg-config.

use std::env;
use std::path::Path;
use std::process::{exit, Command};

fn main() {
    for variable in [
        "HBBP_LIB_DIR",
        "HBBP_STATIC",
        "PKG_CONFIG",
        "PKG_CONFIG_PATH",
        "PKG_CONFIG_LIBDIR",
        "PKG_CONFIG_SYSROOT_DIR",
    ] {
        println!("cargo:rerun-if-env-changed={}", variable);
    }
    println!("cargo:rerun-if-changed=build.rs");
    // Documentation is made without the library.
    if env::var_os("DOCS_RS").is_some() {
        return;
    }
    let wish = env::var_os("HBBP_STATIC").unwrap_or_default();
    let is_static =
        env::var_os("CARGO_FEATURE_STATIC").is_some() || (wish != "0" && !wish.is_empty());
    let kind = if is_static { "static" } else { "dylib" };
    let directory = env::var("HBBP_LIB_DIR").unwrap_or_default();
    if !directory.is_empty() {
        let file = if is_static { "libhbbp.a" } else { "libhbbp.so" };
        if !Path::new(&directory).join(file).exists() {
            fail(&format!(
                "HBBP_LIB_DIR is {}, which has no {}",
                directory, file
            ));
        }
        search(&directory);
        println!("cargo:rustc-link-lib={}=hbbp", kind);
        if !is_static {
            return;
        }
    }
    let flags = pkg_config(is_static, &directory);
    for flag in flags.split_whitespace() {
        if let Some(path) = flag.strip_prefix("-L") {
            search(path);
        } else if flag == "-lhbbp" {
            if directory.is_empty() {
                println!("cargo:rustc-link-lib={}=hbbp", kind);
            }
        } else if let Some(library) = flag.strip_prefix("-l") {
            println!("cargo:rustc-link-lib=dylib={}", library);
        }
    }
}

/// An archive becomes part of the crate: a changed one must be linked again.
fn search(directory: &str) {
    println!("cargo:rustc-link-search=native={}", directory);
    let archive = Path::new(directory).join("libhbbp.a");
    if archive.exists() {
        println!("cargo:rerun-if-changed={}", archive.display());
    }
}

/// Returns what `pkg-config` links. If a directory was given, the hbbp.pc in it is used.
fn pkg_config(is_static: bool, directory: &str) -> String {
    let program = env::var_os("PKG_CONFIG").unwrap_or_else(|| "pkg-config".into());
    let wanted = concat!("hbbp >= ", env!("CARGO_PKG_VERSION"));
    let mut command = Command::new(&program);
    command.args(["--libs", wanted]);
    if is_static {
        command.arg("--static");
    }
    if !directory.is_empty() {
        let given = Path::new(directory).join("pkgconfig");
        let mut paths = vec![given];
        paths.extend(env::split_paths(
            &env::var_os("PKG_CONFIG_PATH").unwrap_or_default(),
        ));
        match env::join_paths(paths) {
            Ok(joined) => command.env("PKG_CONFIG_PATH", joined),
            Err(error) => fail(&format!("HBBP_LIB_DIR is {}: {}", directory, error)),
        };
    }
    match command.output() {
        Ok(output) if output.status.success() => {
            String::from_utf8_lossy(&output.stdout).into_owned()
        }
        Ok(output) => fail(String::from_utf8_lossy(&output.stderr).trim()),
        Err(error) => fail(&format!("cannot run {:?}: {}", program, error)),
    }
}

fn fail(problem: &str) -> ! {
    eprintln!("hbbp-sys: cannot find libhbbp: {}", problem);
    eprintln!(
        "hbbp-sys: set HBBP_LIB_DIR to the directory of libhbbp.so (of libhbbp.a for the feature \
         `static`), or install libhbbp and have PKG_CONFIG_PATH name the directory of hbbp.pc"
    );
    exit(1);
}
