#!/bin/bash
# Installs those of the named Debian packages that are missing. No service of theirs is started: a policy file stands in
# the way during the installation. A package after `--if-available` is left out where this release of Debian has none.
# Usage: setup/packages.sh LOG PACKAGE… [--if-available PACKAGE…]
set -euo pipefail

refuse() {
  echo "$*" >&2
  exit 1
}

log=$1
shift

command -v apt-get >/dev/null && command -v dpkg >/dev/null ||
  refuse "this machine has no apt: Floodwall is built on Debian 12 or newer"
architecture=$(dpkg --print-architecture)
case $architecture in
  amd64 | arm64) ;;
  *) refuse "this is Debian for $architecture: there are Floodwall and Bun for amd64 and arm64 only" ;;
esac
# Debian's testing and unstable have no number.
release=$(. /etc/os-release && [ "${ID:-}" = debian ] && echo "${VERSION_ID:-}" || true)
[ -z "$release" ] || [ "$release" -ge 12 ] ||
  refuse "this is Debian $release: its clang, libxdp and GoBGP are too old; upgrade to Debian 12 or newer"

is_installed() { dpkg-query -W -f='${Status}' "$1" 2>/dev/null | grep -q 'ok installed'; }
is_available() { [ -n "$(apt-cache show --no-all-versions "$1" 2>/dev/null)" ]; }

missing=() optional=() is_optional=
for package in "$@"; do
  if [ "$package" = --if-available ]; then
    is_optional=yes
  elif is_installed "$package"; then
    :
  elif [ -n "$is_optional" ]; then
    optional+=("$package")
  else
    missing+=("$package")
  fi
done
[ $((${#missing[@]} + ${#optional[@]})) != 0 ] || exit 0

mkdir -p "$(dirname "$log")"
if [ "$(id -u)" = 0 ]; then
  apt-get update >"$log" 2>&1 || { tail -20 "$log" >&2; exit 1; }
fi
for package in "${optional[@]}"; do
  if is_available "$package"; then
    missing+=("$package")
  else
    echo "this release of Debian has no $package: tests that need it are skipped, and named"
  fi
done
[ ${#missing[@]} != 0 ] || exit 0
[ "$(id -u)" = 0 ] ||
  refuse "missing Debian packages, as root: apt-get install --no-install-recommends ${missing[*]}"

echo "installing Debian packages: ${missing[*]}"
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
  trap 'rm -f $policy' EXIT
  printf '#!/bin/sh\nexit 101\n' >$policy
  chmod 755 $policy
fi
export DEBIAN_FRONTEND=noninteractive
apt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends "${missing[@]}" >>"$log" 2>&1 ||
  { tail -20 "$log" >&2; exit 1; }
