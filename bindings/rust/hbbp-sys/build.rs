//! Finds libhbbp: in the folder `HBBP_LIB_DIR`, else by pkg-config.

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
    let folder = env::var("HBBP_LIB_DIR").unwrap_or_default();
    if !folder.is_empty() {
        let file = if is_static { "libhbbp.a" } else { "libhbbp.so" };
        if !Path::new(&folder).join(file).exists() {
            fail(&format!(
                "HBBP_LIB_DIR is {}, which has no {}",
                folder, file
            ));
        }
        search(&folder);
        println!("cargo:rustc-link-lib={}=hbbp", kind);
        if !is_static {
            return;
        }
    }
    let flags = pkg_config(is_static, &folder);
    for flag in flags.split_whitespace() {
        if let Some(path) = flag.strip_prefix("-L") {
            search(path);
        } else if flag == "-lhbbp" {
            if folder.is_empty() {
                println!("cargo:rustc-link-lib={}=hbbp", kind);
            }
        } else if let Some(library) = flag.strip_prefix("-l") {
            println!("cargo:rustc-link-lib=dylib={}", library);
        }
    }
}

/// An archive becomes part of the crate: another one of this name must be taken anew.
fn search(folder: &str) {
    println!("cargo:rustc-link-search=native={}", folder);
    let archive = Path::new(folder).join("libhbbp.a");
    if archive.exists() {
        println!("cargo:rerun-if-changed={}", archive.display());
    }
}

/// What `pkg-config` says is to be linked. Beside a library that was named, its own hbbp.pc counts.
fn pkg_config(is_static: bool, folder: &str) -> String {
    let program = env::var_os("PKG_CONFIG").unwrap_or_else(|| "pkg-config".into());
    let wanted = concat!("hbbp >= ", env!("CARGO_PKG_VERSION"));
    let mut command = Command::new(&program);
    command.args(["--libs", wanted]);
    if is_static {
        command.arg("--static");
    }
    if !folder.is_empty() {
        let beside = Path::new(folder).join("pkgconfig");
        let mut paths = vec![beside];
        paths.extend(env::split_paths(
            &env::var_os("PKG_CONFIG_PATH").unwrap_or_default(),
        ));
        match env::join_paths(paths) {
            Ok(joined) => command.env("PKG_CONFIG_PATH", joined),
            Err(error) => fail(&format!("HBBP_LIB_DIR is {}: {}", folder, error)),
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
        "hbbp-sys: set HBBP_LIB_DIR to the folder of libhbbp.so (of libhbbp.a for the feature \
         `static`), or install libhbbp and have PKG_CONFIG_PATH name the folder of hbbp.pc"
    );
    exit(1);
}
