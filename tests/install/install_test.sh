#!/bin/sh
# Installs a build into a prefix of its own and uses it from there like other projects.
# usage: install_test.sh STEP, with the variables of tests/install/CMakeLists.txt set
set -eu

fail() {
  echo "install_test.sh: $*" >&2
  exit 1
}

expect() {
  [ "$2" = "$3" ] || fail "$1: '$2', expected '$3'"
}

# expect_message LOG MESSAGE: CMake breaks lines.
expect_message() {
  tr -s '\n ' ' ' <"$1" | grep -q "$2" || { cat "$1"; fail "$1 has no '$2'"; }
}

# Makes a fresh directory for one step.
fresh() {
  rm -rf "${WORK:?}/$1"
  mkdir -p "$WORK/$1"
  cd "$WORK/$1"
}

step_install() {
  fresh prefix
  "$CMAKE" --install "$BUILD" --prefix "$PREFIX" >"$WORK/install.log"
  for file in bin/hbbp "$LIBDIR/libhbbp.so" "$LIBDIR/libhbbp.a" "$LIBDIR/pkgconfig/hbbp.pc" \
    "$LIBDIR/libhbbp-collect.so" "$LIBDIR/libhbbp-collect.a" "$LIBDIR/pkgconfig/hbbp-collect.pc" \
    "$LIBDIR/cmake/hbbp/hbbpConfig.cmake" "$LIBDIR/cmake/hbbp/hbbpConfigVersion.cmake" \
    "$LIBDIR/hbbp/libhbbp-preload.so" "$LIBDIR/hbbp/libhbbp-preload-swbt.so" \
    share/hbbp/groups.txt share/hbbp/train/train_tree.py share/doc/hbbp/LICENSE; do
    [ -e "$PREFIX/$file" ] || fail "$file is not installed"
  done
  expect "public headers" "$(cd "$PREFIX/include/hbbp" && find . -type f | sort)" \
    "$(cd "$SOURCE/include/hbbp" && find . -type f | sort)"
  if grep -rIl -e "$BUILD" -e "$SOURCE" "$PREFIX/$LIBDIR/cmake" "$PREFIX/$LIBDIR/pkgconfig"; then
    fail "these files name the build or the source directory"
  fi
}

cmake_consumer() {
  fresh "cmake_$1"
  "$CMAKE" -S "$TESTS/consumer" -B . -DUSE_STATIC="$1" -DCMAKE_PREFIX_PATH="$PREFIX" \
    -DCMAKE_C_COMPILER="$CC" -DCMAKE_CXX_COMPILER="$CXX" >configure.log 2>&1 ||
    { cat configure.log; fail "cannot configure"; }
  "$CMAKE" --build .
  for program in consumer_c consumer_cpp consumer_no_exceptions; do ./$program; done
}

step_cmake_shared() {
  cmake_consumer OFF
}

step_cmake_static() {
  cmake_consumer ON
  if readelf -d consumer_c | grep 'NEEDED.*libhbbp'; then fail "not linked statically"; fi
}

# Extra words make `cc` link the archive for -lhbbp, which lies next to the shared library.
pkg_config_consumer() {
  export PKG_CONFIG_PATH="$PREFIX/$LIBDIR/pkgconfig"
  expect "version in hbbp.pc" "$(pkg-config --modversion hbbp)" "$VERSION"
  cflags="$(pkg-config --cflags hbbp) -Wall -Wextra -Werror"
  cflags="$cflags -Wl,--no-undefined -Wl,--no-allow-shlib-undefined"
  libs="$(pkg-config "$@" --libs hbbp | sed "s/-lhbbp /$LINK_AS /;s/-lhbbp\$/$LINK_AS/")"
  "$CC" -std=c11 $cflags "$TESTS/consumer/consumer.c" $libs -Wl,-rpath,"$PREFIX/$LIBDIR" -o c
  "$CXX" -std=c++17 $cflags "$TESTS/consumer/consumer.cc" $libs -Wl,-rpath,"$PREFIX/$LIBDIR" -o cpp
  "$CXX" -std=c++17 -fno-exceptions -fno-rtti $cflags "$TESTS/consumer/consumer.cc" $libs \
    -Wl,-rpath,"$PREFIX/$LIBDIR" -o no_exceptions
  # A library that links libhbbp exports nothing of it.
  "$CC" -std=c11 -shared -fPIC -Dmain=plugin_main $cflags "$TESTS/consumer/consumer.c" $libs \
    -Wl,-rpath,"$PREFIX/$LIBDIR" -o plugin.so
  ./c
  ./cpp
  ./no_exceptions
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

# One agent is linked statically, since its half of the library needs libc alone, and one is not; the command analyses
# their profiles.
step_collect() {
  fresh collect
  export PKG_CONFIG_PATH="$PREFIX/$LIBDIR/pkgconfig"
  cflags="$(pkg-config --cflags hbbp-collect) -std=c11 -Wall -Wextra -Werror"
  "$CC" $cflags "$SOURCE/tests/abi/agent_test.c" $(pkg-config --libs hbbp-collect) \
    -Wl,-rpath,"$PREFIX/$LIBDIR" -o agent
  expect "libraries of an agent" "$(readelf -d agent | grep NEEDED | grep -cv 'libc\.\|ld-')" 1
  "$CC" -static $cflags "$SOURCE/tests/abi/agent_test.c" $(pkg-config --static --libs hbbp-collect) \
    -o static_agent 2>link.log || { cat link.log; fail "cannot link"; }
  expect_static static_agent
  for agent in agent static_agent; do
    status=0
    ./$agent $agent.profile || status=$?
    [ $status -ne 77 ] || { echo "SKIPPED: perf_event_open does not work here"; exit 0; }
    [ $status -eq 0 ] || fail "$agent: status $status"
    "$PREFIX/bin/hbbp" blocks --event task-clock $agent.profile | tee $agent.txt
    grep -q work $agent.txt || fail "no block of $agent"
  done
  "$CMAKE" -S "$TESTS/consumer" -B cmake -DUSE_COLLECT=ON -DAGENT="$SOURCE/tests/abi/agent_test.c" \
    -DCMAKE_PREFIX_PATH="$PREFIX" -DCMAKE_C_COMPILER="$CC" -DCMAKE_CXX_COMPILER="$CXX" \
    >configure.log 2>&1 || { cat configure.log; fail "cannot configure"; }
  "$CMAKE" --build cmake
  cmake/agent agent.profile
}

# $1 is Meson's name for the source of libhbbp.
meson_setup() {
  cp "$TESTS"/consumer/* .
  sed -i "s,../../support/,$SOURCE/tests/support/," consumer.c
  CC=$CC CXX=$CXX meson setup --wrap-mode="$1" build >setup.log 2>&1 || { cat setup.log; fail "meson setup"; }
}

step_meson() {
  fresh meson
  export PKG_CONFIG_PATH="$PREFIX/$LIBDIR/pkgconfig"
  meson_setup nofallback
  meson compile -C build
  export LD_LIBRARY_PATH="$PREFIX/$LIBDIR"
  build/consumer_c
  build/consumer_cpp
}

# Building the library again would take minutes: it suffices that it would be built and linked, as the builds of CMake
# and Meson are tested by themselves.
expect_only_the_library() {
  ninja -C build -t inputs consumer_c >inputs
  grep -q "/libhbbp.so" inputs || fail "consumer_c does not link libhbbp of the source"
  ninja -C build -t inputs all >all
  if grep 'preload\|CLI11\|/tests/unit/\|/bench/\|/examples/\|hbbp\.1' all; then
    fail "these are built, too"
  fi
}

# meson_source NAME: libhbbp is subprojects/NAME. No option is set: tools and tests are for who builds libhbbp alone.
meson_source() {
  meson_setup forcefallback
  if grep -i 'catch2\|cli11' setup.log; then fail "asks for what only the command and the tests need"; fi
  meson introspect --targets build |
    grep -q "\"[^\"]*subprojects/$1/lib/libhbbp.so[^\"]*\"" || fail "libhbbp is not a target"
  expect_only_the_library
}

step_meson_subproject() {
  fresh meson_subproject
  mkdir subprojects
  ln -s "$SOURCE" subprojects/hbbp
  meson_source hbbp
}

# Makes hbbp-VERSION.tar.gz as it is published: without what is built.
source_archive() {
  tar -czf "hbbp-$VERSION.tar.gz" -C "$SOURCE" --transform "s,^\.,hbbp-$VERSION," --exclude=./build --exclude='./build-*' \
    --exclude=./.git --exclude=node_modules --exclude=./bindings/rust/target --exclude=__pycache__ .
}

step_meson_wrap() {
  fresh meson_wrap
  mkdir -p subprojects/packagefiles
  (cd subprojects/packagefiles && source_archive)
  cat >subprojects/hbbp.wrap <<END
[wrap-file]
directory = hbbp-$VERSION
source_filename = hbbp-$VERSION.tar.gz
source_hash = $(sha256sum "subprojects/packagefiles/hbbp-$VERSION.tar.gz" | cut -d ' ' -f 1)

[provide]
dependency_names = hbbp, hbbp-collect
END
  meson_source "hbbp-$VERSION"
  rm -r subprojects
}

# cmake_source OPTION: the same for CMake; nothing of libhbbp is installed, and the build type is the host's.
cmake_source() {
  "$CMAKE" -S "$TESTS/consumer" -B build -G Ninja "$1" -DCMAKE_C_COMPILER="$CC" -DCMAKE_CXX_COMPILER="$CXX" \
    >configure.log 2>&1 || { cat configure.log; fail "cannot configure"; }
  if grep -i 'catch2\|cli11' configure.log; then fail "asks for what only the command and the tests need"; fi
  grep -qx 'CMAKE_BUILD_TYPE:STRING=' build/CMakeCache.txt || fail "sets the build type of its host"
  expect_only_the_library
  "$CMAKE" --install build --prefix "$PWD/prefix" >install.log || { cat install.log; fail "cannot install the host"; }
  [ -z "$(find prefix -type f 2>/dev/null)" ] || fail "is installed with its host"
  "$CMAKE" -DHBBP_INSTALL=ON build >configure.log || { cat configure.log; fail "cannot configure with HBBP_INSTALL"; }
  grep -rq 'libhbbp\.so' --include=cmake_install.cmake build || fail "is not installed with HBBP_INSTALL"
}

step_add_subdirectory() {
  fresh add_subdirectory
  cmake_source -DSOURCE="$SOURCE"
}

step_fetch_content() {
  fresh fetch_content
  source_archive
  cmake_source -DARCHIVE="$PWD/hbbp-$VERSION.tar.gz"
  rm -r build
}

step_static_without_cxx() {
  fresh static_without_cxx
  cat >CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.16)
project(host LANGUAGES C)
find_package(hbbp CONFIG REQUIRED COMPONENTS static)
END
  "$CMAKE" . -DCMAKE_PREFIX_PATH="$PREFIX" -DCMAKE_C_COMPILER="$CC" >configure.log 2>&1 &&
    fail "a project in C alone can have the static library"
  expect_message configure.log 'hbbp_static has C++ inside: add CXX to the LANGUAGES of project()'
}

step_older_cxx() {
  fresh older_cxx
  echo '#include <hbbp/hbbp.hpp>' >host.cc
  for standard in 98 11 14; do
    "$CXX" -std=c++$standard -I"$PREFIX/include" -fsyntax-only host.cc 2>errors && fail "compiles as C++$standard"
    expect "errors of C++$standard" "$(grep -c 'error:' errors)" 1
    grep -q 'error:.* needs C++17' errors || { cat errors; fail "does not say what is needed"; }
  done
}

# Nothing was built in this build directory.
step_nothing_built() {
  fresh nothing_built
  "$CMAKE" -S "$SOURCE" -B build -DHBBP_BUILD_TESTS=OFF -DHBBP_BUILD_BENCHMARKS=OFF -DHBBP_BUILD_EXAMPLES=OFF \
    -DCMAKE_C_COMPILER="$CC" -DCMAKE_CXX_COMPILER="$CXX" >configure.log 2>&1 || { cat configure.log; fail "cannot configure"; }
  grep -qx 'CMAKE_BUILD_TYPE:STRING=Release' build/CMakeCache.txt || fail "Release is not the default"
  for component in '' '--component tools' '--component library'; do
    "$CMAKE" --install build --prefix "$PWD/prefix" $component 2>errors && fail "installs what was not built"
    expect_message errors 'Nothing is installed, because this was not built: '
    if [ -e prefix ]; then fail "leaves half a prefix"; fi
  done
}

step_other_platform() {
  command -v musl-gcc >/dev/null || { echo "SKIPPED: no musl-gcc"; exit 0; }
  fresh other_platform
  "$CMAKE" -S "$SOURCE" -B cmake -DCMAKE_C_COMPILER=musl-gcc -DCMAKE_CXX_COMPILER="$CXX" >cmake.log 2>&1 &&
    fail "CMake configures for musl"
  if command -v meson >/dev/null; then
    CC=musl-gcc CXX=$CXX meson setup "$PWD/meson" "$SOURCE" >meson.log 2>&1 && fail "Meson configures for musl"
  fi
  for log in *.log; do
    expect_message $log 'libhbbp needs 64-bit x86 Linux with the GNU C library, and [^ ]*musl-gcc builds'
  done
}

has_archive() {
  archive=lib${1#-l}.a
  [ "$("$CC" -print-file-name="$archive")" != "$archive" ]
}

# Every library with an archive is linked statically, so where all have one the whole program is static.
step_static_host() {
  fresh static_host
  export PKG_CONFIG_PATH="$PREFIX/$LIBDIR/pkgconfig"
  dynamic=
  for flag in $(pkg-config --static --libs-only-l hbbp); do
    [ "$flag" = -lhbbp ] || has_archive "$flag" || dynamic="$dynamic $flag"
  done
  how=-static
  libs=$(pkg-config --static --libs hbbp)
  if [ -n "$dynamic" ]; then
    echo "not linked statically, for want of archives:$dynamic, and libc"
    how=-no-pie
    # libc and its parts are of one kind.
    dynamic="$dynamic -lm -lrt -latomic"
    archives=
    for flag in $libs; do
      case " $dynamic " in
        *" $flag "*) ;;
        *) flag=$(echo "$flag" | sed 's/^-l\(.*\)/-l:lib\1.a/') ;;
      esac
      archives="$archives $flag"
    done
    libs=$archives
  fi
  "$CC" -std=c11 $how $(pkg-config --cflags hbbp) -Wall -Wextra -Werror \
    "$TESTS/consumer/consumer.c" $libs -o host 2>link.log || { cat link.log; fail "cannot link"; }
  if readelf -d host | grep 'NEEDED.*\(hbbp\|stdc++\|capstone\|elf\)'; then
    fail "not linked statically"
  fi
  ./host
}

step_static_zydis() {
  rm -rf "$WORK/static-zydis"
  "$SOURCE/scripts/static-zydis" "$WORK/static-zydis"
}

static_zydis() {
  [ -e "$WORK/static-zydis/lib/libZydis.a" ] || { echo "SKIPPED: no libZydis.a"; exit 0; }
}

expect_static() {
  if readelf -lW "$1" | grep INTERP || readelf -d "$1" | grep NEEDED; then fail "$1 is not static"; fi
}

step_static_program() {
  static_zydis
  fresh static_program
  export PKG_CONFIG_PATH="$PREFIX/$LIBDIR/pkgconfig"
  "$CC" -static -std=c11 -O1 -Wall -Wextra -Werror "$TESTS/static_program/static_program.c" \
    $(pkg-config --static --cflags --libs hbbp) -L"$WORK/static-zydis/lib" -o static_program
  expect_static static_program
  ./static_program
}

step_cmake_static_program() {
  static_zydis
  fresh cmake_static_program
  "$CMAKE" -S "$TESTS/static_program" -B . -DCMAKE_PREFIX_PATH="$PREFIX;$WORK/static-zydis" \
    -DCMAKE_C_COMPILER="$CC" >configure.log 2>&1 || { cat configure.log; fail "cannot configure"; }
  "$CMAKE" --build .
  expect_static static_program
  ./static_program
  # Without it, a message names what is missing.
  "$CMAKE" -S "$TESTS/static_program" -B without -DCMAKE_PREFIX_PATH="$PREFIX" \
    -DCMAKE_C_COMPILER="$CC" >without.log 2>&1 && fail "configures without libZydis.a"
  grep -q libZydis.a without.log || { cat without.log; fail "does not say what is missing"; }
}

step_command() {
  fresh command
  command_from_prefix
}

command_from_prefix() {
  hbbp="$PREFIX/bin/hbbp"
  expect "hbbp --version" "$("$hbbp" --version)" "hbbp $VERSION"
  # The program waits for nothing, for about a second.
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

# Returns a field of the package with the library, the headers, the command or the Python module.
field() {
  dpkg-deb -f "$WORK/packages/$1_${VERSION}_"*.deb "$2"
}

files_of() {
  dpkg-deb -c "$WORK/packages/$1_${VERSION}_"*.deb |
    sed -n 's,^-[^/]*/[^/]*[^.]*\./,,p;s,^l.* \./\(.*\) -> .*,\1,p' | sort
}

expect_in() {
  echo "$2" | grep -q -- "$3" || fail "$1: '$2', expected '$3' in it"
}

step_packages() {
  for tool in cpack dpkg-shlibdeps dpkg-deb file; do
    command -v $tool >/dev/null || { echo "SKIPPED: no $tool"; exit 0; }
  done
  fresh packages
  # All is built: with make, cpack would look for what is not, which takes longer than the packages.
  cpack --config "$BUILD/CPackConfig.cmake" -D CPACK_CMAKE_GENERATOR=Ninja -B "$WORK/packages" >cpack.log 2>&1 ||
    { cat cpack.log; fail "cpack"; }
  if grep -i warning cpack.log; then fail "cpack warns"; fi
  rm -r _CPack_Packages
  soversion=${VERSION%%.*}
  library=libhbbp$soversion
  collect=libhbbp-collect$soversion
  for package in "$library" "$collect" libhbbp-dev hbbp-tools python3-hbbp; do
    expect "version of $package" "$(field $package Version)" "$VERSION"
    expect_in "maintainer of $package" "$(field $package Maintainer)" '^[^<>]* <[^ ]*@[^ ]*>$'
    expect_in "summary of $package" "$(field $package Description | head -n 1)" '^[a-z].\{20,70\}$'
    expect_in "files of $package" "$(files_of $package)" "^usr/share/doc/$package/copyright\$"
    expect_in "files of $package" "$(files_of $package)" "^usr/share/doc/$package/changelog.gz\$"
  done
  expect "files of $library" "$(files_of "$library" | grep -v /doc/)" \
    "usr/$LIBDIR/libhbbp.so.$soversion
usr/$LIBDIR/libhbbp.so.$VERSION"
  expect_in "dependencies of $library" "$(field "$library" Depends)" 'libc6 (>= .*libzydis'
  # These are the control files for dpkg: it must not run any.
  expect "control files of $library" "$(dpkg-deb --ctrl-tarfile ./"$library"_*.deb | tar -t | sort)" \
    "./
./control
./md5sums
./shlibs
./triggers"
  expect_in "shlibs of $library" "$(dpkg-deb --info ./"$library"_*.deb shlibs)" \
    "^libhbbp $soversion $library (>= $VERSION)\$"
  expect "files of $collect" "$(files_of "$collect" | grep -v /doc/)" \
    "usr/$LIBDIR/libhbbp-collect.so.$soversion
usr/$LIBDIR/libhbbp-collect.so.$VERSION"
  expect_in "dependencies of $collect" "$(field "$collect" Depends)" '^libc6 (>= [^,]*$'
  expect_in "shlibs of $collect" "$(dpkg-deb --info ./"$collect"_*.deb shlibs)" \
    "^libhbbp-collect $soversion $collect (>= $VERSION)\$"
  expect "files of libhbbp-dev" \
    "$(files_of libhbbp-dev | grep -v '/doc/\|/cmake/\|include/hbbp/\|/man3/')" "usr/$LIBDIR/libhbbp-collect.a
usr/$LIBDIR/libhbbp-collect.so
usr/$LIBDIR/libhbbp.a
usr/$LIBDIR/libhbbp.so
usr/$LIBDIR/pkgconfig/hbbp-collect.pc
usr/$LIBDIR/pkgconfig/hbbp.pc"
  expect_in "files of libhbbp-dev" "$(files_of libhbbp-dev)" '^usr/share/man/man3/hbbp_session_start.3.gz$'
  for file in README.md docs/guide/embedding.md examples/self_profile.c; do
    expect_in "files of libhbbp-dev" "$(files_of libhbbp-dev)" "^usr/share/doc/libhbbp-dev/$file\$"
  done
  expect "architecture of python3-hbbp" "$(field python3-hbbp Architecture)" all
  expect "dependencies of python3-hbbp" "$(field python3-hbbp Depends)" "python3 (>= 3.8), $library (= $VERSION)"
  expect "files of python3-hbbp" "$(files_of python3-hbbp | sed -n 's,^usr/lib/python3/dist-packages/hbbp/,,p')" \
    "$(ls "$SOURCE/bindings/python/src/hbbp" | grep -v __pycache__ | sort)"
  expect_in "files of python3-hbbp" "$(files_of python3-hbbp)" "^usr/lib/python3/dist-packages/hbbp-$VERSION.dist-info/METADATA\$"
  expect_in "dependencies of libhbbp-dev" "$(field libhbbp-dev Depends)" \
    "^$library (= $VERSION), $collect (= $VERSION)\$"
  expect_in "dependencies of hbbp-tools" "$(field hbbp-tools Depends)" "^$library (= $VERSION), "
  for file in man/man1/hbbp.1.gz bash-completion/completions/hbbp zsh/.*/_hbbp; do
    expect_in "files of hbbp-tools" "$(files_of hbbp-tools)" "^usr/share/$file\$"
  done
  if field hbbp-tools Depends | grep python; then fail "hbbp-tools depends on Python"; fi
  # Everything that is installed is in one of them, except the project's own texts.
  for package in "$library" "$collect" libhbbp-dev hbbp-tools; do files_of $package; done |
    sed 's,^usr/,,;s,^\(share/man/.*\)\.gz$,\1,' | grep -v '^share/doc/' | sort >packaged
  (cd "$PREFIX" && find . -type f -o -type l) | sed 's,^\./,,' | grep -v '^share/doc/' | sort >installed
  diff installed packaged >&2 || fail "packages and cmake --install differ"
}

# The packages are used without installing them, as any user.
step_packages_use() {
  [ -e "$WORK/packages/installed" ] || { echo "SKIPPED: no packages were made"; exit 0; }
  fresh packages_use
  for package in "$WORK"/packages/*.deb; do dpkg-deb -x "$package" root; done
  PREFIX=$PWD/root/usr
  if readelf -S "$PREFIX/$LIBDIR/libhbbp.so" "$PREFIX/bin/hbbp" | grep '\.debug_'; then
    fail "not stripped"
  fi
  mkdir shared static
  (cd shared && LINK_AS=-lhbbp pkg_config_consumer)
  (cd static && LINK_AS=-l:libhbbp.a pkg_config_consumer --static)
  export LD_LIBRARY_PATH="$PREFIX/$LIBDIR"
  expect "version in Python" "$(PYTHONPATH=$PREFIX/lib/python3/dist-packages python3 -B -c \
    'import hbbp, importlib.metadata; print(importlib.metadata.version("hbbp"), hbbp.library_version())')" "$VERSION $VERSION"
  "$PREFIX/bin/hbbp" doctor | tee doctor.txt
  grep -q perf_event_open doctor.txt || fail "doctor says nothing of perf_event_open"
  command_from_prefix
}

unset LD_LIBRARY_PATH LD_PRELOAD
PREFIX=$WORK/prefix
"step_$1"
