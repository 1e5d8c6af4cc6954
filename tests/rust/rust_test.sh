#!/bin/sh
# Builds and tests bindings/rust, or checks it, offline and with the library of one build.
# usage: rust_test.sh STEP, with the variables of tests/rust/CMakeLists.txt set
set -eu

fail() {
  echo "rust_test.sh: $*" >&2
  exit 1
}

skip() {
  echo "SKIPPED: $*; scripts/setup --test installs it"
  exit 0
}

# Nothing is compiled twice, and nothing debugged.
export CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=1

cargo() {
  "$CARGO" "$@"
}

step_tests() {
  cargo test --offline --workspace
}

step_clippy() {
  cargo clippy --version >/dev/null 2>&1 || skip "no rust-clippy"
  cargo clippy --offline --workspace --all-targets -- -D warnings
}

step_format() {
  cargo fmt --version >/dev/null 2>&1 || skip "no rustfmt"
  cargo fmt --all --check
}

step_documentation() {
  RUSTDOCFLAGS="-D warnings" cargo doc --offline --workspace --no-deps
}

# Runs the example, and checks the names of its function, which come from symbols and from debug information.
example() {
  cargo run --offline --profile profiling --example log_words -- 1 >"$WORK/example.txt"
  cat "$WORK/example.txt"
  for line in '% ±[0-9.]*  <log_words::glob::Pattern as log_words::glob::Matches>::matches$' \
    '%  log_words.rs:[0-9]*  <log_words::glob::Pattern as log_words::glob::Matches>::matches$' \
    '% ±[0-9.]*  log_words::log::count_words$' '%  cmp$' "$@"; do
    grep -q -e "$line" "$WORK/example.txt" || fail "no line '$line'"
  done
  if grep -E '_ZN|_R[NI]|::h[0-9a-f]{16}' "$WORK/example.txt"; then
    fail "these names are mangled"
  fi
}

step_example_legacy() {
  RUSTFLAGS="-C symbol-mangling-version=legacy -Z unstable-options" RUSTC_BOOTSTRAP=1 example
}

# Only these names have the types of generic functions, whichever of them had samples.
step_example_v0() {
  CARGO_TARGET_DIR="$WORK/v0" RUSTFLAGS="-C symbol-mangling-version=v0" example \
    '<.*&str\|SliceIndex<\[u8\]>'
}

# This step uses the library as it was installed.
installed_example() {
  unset HBBP_LIB_DIR LD_LIBRARY_PATH
  export PKG_CONFIG_PATH="$PREFIX/$LIBDIR/pkgconfig" CARGO_TARGET_DIR="$WORK/$1"
  program="$WORK/$1/debug/examples/log_words"
  shift
  cargo build --offline --package hbbp --example log_words "$@"
}

step_pkg_config() {
  installed_example pkg_config
  readelf -d "$program" | grep 'NEEDED.*libhbbp' || fail "libhbbp.so is not linked"
  LD_LIBRARY_PATH="$PREFIX/$LIBDIR" "$program" 0.2 | grep ' words, '
}

step_static() {
  installed_example static --features static
  if readelf -d "$program" | grep 'NEEDED.*libhbbp'; then fail "not linked statically"; fi
  "$program" 0.2 | grep ' words, '
}

case $CARGO in
  *-NOTFOUND) skip "no cargo" ;;
esac
# Use the compiler next to this cargo.
PATH=$(dirname "$CARGO"):$PATH
export PATH CC HBBP_TEST_DATA
export HBBP_LIB_DIR="$LIBRARIES" LD_LIBRARY_PATH="$LIBRARIES"
export CARGO_TARGET_DIR="$WORK/target" CARGO_BUILD_JOBS=1 RUST_BACKTRACE=1
unset HBBP_STATIC RUSTFLAGS
cd "$SOURCE/bindings/rust"
"step_$1"
