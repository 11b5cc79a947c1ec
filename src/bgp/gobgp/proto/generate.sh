#!/bin/sh
# Makes the files in gobgp3/ and gobgp4/ from the protos of GoBGP 3.x and 4.x. Run it by hand after a change of the
# plugin's version; the result is committed, so that a build needs neither protoc nor GoBGP's sources.
# Arguments: the folders into which Debian's golang-github-osrg-gobgp-dev was unpacked (apt-get download, dpkg-deb -x), of
# Debian 12 for the API of 3.x and of Debian 13's backports for the API of 4.x.
# Needs: protobuf-compiler, libprotobuf-dev (Debian), and the npm packages of this project.
set -eu
[ $# -eq 2 ] || { echo "usage: generate.sh UNPACKED-3.x UNPACKED-4.x" >&2; exit 2; }
protos3=$(realpath "$1")/usr/share/gocode/src/github.com/osrg/gobgp/api
protos4=$(realpath "$2")/usr/share/gocode/src/github.com/osrg/gobgp/proto
cd "$(dirname "$0")"
root=$(git rev-parse --show-toplevel)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
plugin=$work/protoc-gen-es
printf '#!/bin/sh\nexec "%s/node_modules/.bin/bun" "%s/node_modules/@bufbuild/protoc-gen-es/bin/protoc-gen-es" "$@"\n' \
  "$root" "$root" >"$plugin"
chmod 700 "$plugin"

# FOLDER PROTOS FILE...
generate() {
  folder=$1
  protos=$2
  shift 2
  mkdir "$work/$folder"
  protoc -I /usr/include -I "$protos" --plugin=protoc-gen-es="$plugin" \
    --es_out="$work/$folder" --es_opt=target=ts,import_extension=ts "$@"
  mkdir -p "$folder"
  rm -f "$folder"/*_pb.ts
  find "$work/$folder" -name '*_pb.ts' -exec mv {} "$folder" \;
  # Protos that were split off from attribute.proto came without its notice.
  sed '/^\/\/ @generated/,$d' "$folder/attribute_pb.ts" >"$work/notice"
  for file in "$folder"/*_pb.ts; do
    grep -q '^// Copyright' "$file" || { cat "$work/notice" "$file" >"$work/noticed" && cp "$work/noticed" "$file"; }
  done
}

generate gobgp3 "$protos3" gobgp.proto attribute.proto capability.proto
generate gobgp4 "$protos4" api/gobgp.proto api/attribute.proto api/capability.proto api/common.proto api/extcom.proto \
  api/nlri.proto
