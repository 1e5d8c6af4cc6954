#!/bin/sh
# Installs a build into a prefix of its own and uses it from there as strangers would.
# usage: install_test.sh STEP, with the variables of tests/install/CMakeLists.txt set
set -eu

fail() {
  echo "install_test.sh: $*" >&2
  exit 1
}

expect() {
  [ "$2" = "$3" ] || fail "$1: '$2', expected '$3'"
}

# A fresh folder for one step.
fresh() {
  rm -rf "${WORK:?}/$1"
  mkdir -p "$WORK/$1"
  cd "$WORK/$1"
}

step_install() {
  fresh prefix
  "$CMAKE" --install "$BUILD" --prefix "$PREFIX" >"$WORK/install.log"
  for file in bin/hbbp "$LIBDIR/libhbbp.so" "$LIBDIR/libhbbp.a" "$LIBDIR/pkgconfig/hbbp.pc" \
    "$LIBDIR/cmake/hbbp/hbbpConfig.cmake" "$LIBDIR/cmake/hbbp/hbbpConfigVersion.cmake" \
    "$LIBDIR/hbbp/libhbbp-preload.so" "$LIBDIR/hbbp/libhbbp-preload-swbt.so" \
    share/hbbp/groups.txt share/hbbp/train/train_tree.py share/doc/hbbp/LICENSE; do
    [ -e "$PREFIX/$file" ] || fail "$file is not installed"
  done
  expect "public headers" "$(cd "$PREFIX/include/hbbp" && find . -type f | sort)" \
    "$(cd "$SOURCE/include/hbbp" && find . -type f | sort)"
  if grep -rIl -e "$BUILD" -e "$SOURCE" "$PREFIX/$LIBDIR/cmake" "$PREFIX/$LIBDIR/pkgconfig"; then
    fail "these files name the build or the source folder"
  fi
}

cmake_consumer() {
  fresh "cmake_$1"
  "$CMAKE" -S "$TESTS/consumer" -B . -DUSE_STATIC="$1" -DCMAKE_PREFIX_PATH="$PREFIX" \
    -DCMAKE_C_COMPILER="$CC" -DCMAKE_CXX_COMPILER="$CXX" >configure.log 2>&1 ||
    { cat configure.log; fail "cannot configure"; }
  "$CMAKE" --build .
  ./consumer_c
  ./consumer_cpp
}

step_cmake_shared() {
  cmake_consumer OFF
}

step_cmake_static() {
  cmake_consumer ON
  if readelf -d consumer_c | grep 'NEEDED.*libhbbp'; then fail "not linked statically"; fi
}

# Extra words make `cc` see -lhbbp as the archive, which lies beside the shared library.
pkg_config_consumer() {
  export PKG_CONFIG_PATH="$PREFIX/$LIBDIR/pkgconfig"
  expect "version in hbbp.pc" "$(pkg-config --modversion hbbp)" "$VERSION"
  cflags="$(pkg-config --cflags hbbp) -Wall -Wextra -Werror"
  libs="$(pkg-config "$@" --libs hbbp | sed "s/-lhbbp /$LINK_AS /;s/-lhbbp\$/$LINK_AS/")"
  "$CC" -std=c11 $cflags "$TESTS/consumer/consumer.c" $libs -Wl,-rpath,"$PREFIX/$LIBDIR" -o c
  "$CXX" -std=c++17 $cflags "$TESTS/consumer/consumer.cc" $libs -Wl,-rpath,"$PREFIX/$LIBDIR" -o cpp
  ./c
  ./cpp
}

step_pkg_config_shared() {
  fresh pkg_config_shared
  LINK_AS=-lhbbp pkg_config_consumer
  expect "libraries of a shared consumer" "$(readelf -d c | grep NEEDED | grep -cv 'libc\|ld-')" 1
}

step_pkg_config_static() {
  fresh pkg_config_static
  LINK_AS=-l:libhbbp.a pkg_config_consumer --static
}

step_command() {
  fresh command
  hbbp="$PREFIX/bin/hbbp"
  expect "hbbp --version" "$("$hbbp" --version)" "hbbp $VERSION"
  # A program that waits for nothing, for about a second.
  if ! "$hbbp" record -o profile -- sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done' \
    2>record.log; then
    cat record.log
    if "$hbbp" doctor | grep -q 'perf_event_open.*supported'; then fail "cannot record"; fi
    echo "SKIPPED: perf_event_open does not work here"
    exit 0
  fi
  "$hbbp" mix --top 5 profile | tee mix.txt
  grep -q mov mix.txt || fail "no mov in the mix of a shell"
  "$hbbp" record --source swbt -o bursts -- sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done'
  "$hbbp" info bursts | grep 'taken in' || fail "no bursts of a shell"
}

unset LD_LIBRARY_PATH LD_PRELOAD
PREFIX=$WORK/prefix
"step_$1"
