#!/bin/bash
# Puts the first Bun of a machine into a folder: npm fetches the version that the lock file names, and the hash there
# decides whether it is unpacked. No script of a package runs. Bun installs everything else, and itself once more.
# Usage: setup/first-bun.sh LOCK FOLDER [MACHINE]: that of another processor, as `uname -m` names it, is not run.
set -euo pipefail

refuse() {
  echo "$*" >&2
  exit 1
}

lock=$1
folder=$2
machine=${3:-$(uname -m)}
case $machine in
  x86_64) package=@oven/bun-linux-x64 ;;
  aarch64) package=@oven/bun-linux-aarch64 ;;
  *) refuse "this processor is $machine: there is a Bun for x86_64 and aarch64 only" ;;
esac
entry=$(sed -n "s|^ *\"$package\": \[\"$package@\([^\"]*\)\".*\"sha512-\([^\"]*\)\"\],*$|\1 \2|p" "$lock")
version=${entry% *}
[ -n "$version" ] || refuse "$lock names no version of $package"
if [ "$machine" = "$(uname -m)" ]; then
  [ "$("$folder/bun" --version 2>/dev/null || true)" != "$version" ] || exit 0
else
  [ "$(cat "$folder/version" 2>/dev/null || true)" != "$version" ] || exit 0
fi

echo "fetching Bun $version"
expected=$(printf %s "${entry#* }" | base64 -d | od -An -vtx1 | tr -d ' \n')
command -v npm >/dev/null || refuse "npm is missing, which fetches the first Bun: apt-get install npm"
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder"
npm pack --loglevel=error --ignore-scripts "$package@$version" >/dev/null ||
  refuse "npm $(npm --version) on node $(node --version) cannot fetch $package@$version: can it reach its registry (npm ping)?"
archive=$(echo ./*.tgz)
found=$(sha512sum "$archive")
if [ "${found%% *}" != "$expected" ]; then
  rm -rf "$archive"
  refuse "$package@$version is not what $lock describes: its SHA-512 is another one"
fi
tar -xzf "$archive" --strip-components=2 package/bin/bun
rm "$archive"
echo "$version" >version
[ "$machine" = "$(uname -m)" ] || exit 0
./bun --version >/dev/null || refuse "Bun $version does not run here: is this a Linux with glibc?"
