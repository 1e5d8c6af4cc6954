#!/bin/sh
# Installs Debian packages of libhbbp into a system that has nothing else, made by debootstrap from this machine's
# Debian mirrors, and uses and removes them there. Takes about a minute and needs root. Exit status 77: that is
# impossible here.
# usage: clean_root_test.sh DIRECTORY_WITH_PACKAGES
set -eu

skip() {
  echo "SKIPPED: $*"
  exit 77
}

packages=$(cd "$1" && pwd)
consumer=$(cd "$(dirname "$0")/.." && pwd)
ls "$packages"/libhbbp*_*.deb "$packages"/hbbp-tools_*.deb "$packages"/python3-hbbp_*.deb >/dev/null 2>&1 ||
  skip "no packages were made"
[ "$(id -u)" -eq 0 ] || skip "needs root"
command -v debootstrap >/dev/null || skip "no debootstrap"
unshare --mount --pid --fork true 2>/dev/null || skip "no namespaces of mounts and processes"

# Prints the sources of packages that only Debian has.
sources=$(apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT) $(ORIGIN)' \
  'Created-By: Packages' | sed -n 's/ Debian$//p' | sort -u)
[ -n "$sources" ] || skip "apt has no lists of Debian here; apt-get update"
release=$(. /etc/os-release && echo "$VERSION_CODENAME")
mirror=$(echo "$sources" | awk -v release="$release" '$3 == release { print $2; exit }')
[ -n "$mirror" ] || skip "no packages of $release in the sources of apt"

root=$(mktemp -d)
trap 'rm -rf --one-file-system "$root"' EXIT
timeout 600 debootstrap --variant=minbase --include=ca-certificates "$release" "$root" "$mirror" \
  >"$root.log" 2>&1 || { tail -n 5 "$root.log"; rm "$root.log"; skip "debootstrap failed"; }
rm "$root.log"
echo "$sources" >"$root/etc/apt/sources.list"
apt-config dump | grep -i '^Acquire::.*proxy' >"$root/etc/apt/apt.conf.d/90proxy" || true
cp /etc/resolv.conf "$root/etc/"
# The system may be lost in a crash, and is needed only briefly.
echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/unsafe"
mkdir "$root/packages" "$root/test"
cp "$packages"/*.deb "$root/packages"
cp -r "$consumer/install/consumer" "$consumer/support" "$root/test"
mkdir -p "$root/test/install"
mv "$root/test/consumer" "$root/test/install/"

cat >"$root/test/test.sh" <<'END'
set -eu
fail() {
  echo "clean_root_test.sh: $*" >&2
  exit 1
}
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devpts devpts /dev/pts
export DEBIAN_FRONTEND=noninteractive LC_ALL=C
echo 'APT::Sandbox::User "root";' >/etc/apt/apt.conf.d/91sandbox
apt-get update -qq
# The library alone installs no files for development.
apt-get install -qq -y --no-install-recommends /packages/libhbbp0_*.deb >/dev/null
! dpkg-query -W gcc libc6-dev libelf-dev 2>/dev/null || fail "libhbbp0 installs compilers"
ldconfig -p | grep -q libhbbp.so.0 || fail "the loader does not find libhbbp.so.0"
apt-get install -qq -y --no-install-recommends /packages/hbbp-tools_*.deb >/dev/null
hbbp doctor
hbbp record -o /test/profile -- sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done'
hbbp mix --top 5 /test/profile | tee /test/mix
grep -q mov /test/mix || fail "no mov in the mix of a shell"
apt-get install -qq -y --no-install-recommends /packages/python3-hbbp_*.deb >/dev/null
ls /usr/lib/python3/dist-packages/hbbp/__pycache__ >/dev/null || fail "the Python package is not compiled"
python3 -c 'import hbbp; print(hbbp.load("/test/profile").mix())' | grep mov || fail "no mov in the mix by Python"
apt-get install -qq -y --no-install-recommends /packages/libhbbp-collect0_*.deb /packages/libhbbp-dev_*.deb gcc libc6-dev \
  pkg-config >/dev/null
cd /test/install/consumer
cc -std=c11 -Wall -Wextra -Werror consumer.c $(pkg-config --cflags --libs hbbp) -o /test/consumer
/test/consumer
# The packages that it recommends are those that the archive needs.
apt-get install -qq -y --no-install-recommends g++ \
  $(dpkg-query -W -f '${Recommends}' libhbbp-dev | tr -d ,) >/dev/null
cc -std=c11 $(pkg-config --cflags hbbp) consumer.c \
  $(pkg-config --static --libs hbbp | sed 's/-lhbbp /-l:libhbbp.a /') -o /test/static_consumer
/test/static_consumer
dpkg --audit
[ -e /usr/share/doc/libhbbp-dev/examples/self_profile.c ] || fail "no examples in libhbbp-dev"
apt-get purge -qq -y libhbbp0 libhbbp-collect0 libhbbp-dev hbbp-tools python3-hbbp >/dev/null
left=$(find /usr /etc /var/lib -name '*hbbp*' -not -path '/var/lib/dpkg/*-old')
[ -z "$left" ] || fail "left after removing: $left"
END
unshare --mount --pid --fork --propagation private chroot "$root" sh /test/test.sh
echo "packages of $packages: installed, used and removed in a clean $release"
