#!/bin/sh
# Makes the files in this folder from the protos of GoBGP 3.x. Run it by hand after a change of the plugin's version;
# the result is committed, so that a build needs neither protoc nor GoBGP's sources.
# Needs: protobuf-compiler, golang-github-osrg-gobgp-dev (Debian), and the npm packages of this project.
set -eu
cd "$(dirname "$0")"
root=$(git rev-parse --show-toplevel)
gocode=/usr/share/gocode/src/github.com
known=$gocode/golang/protobuf/ptypes

plugin=$(mktemp)
trap 'rm -f "$plugin"' EXIT
chmod 700 "$plugin"
printf '#!/bin/sh\nexec "%s/node_modules/.bin/bun" "%s/node_modules/@bufbuild/protoc-gen-es/bin/protoc-gen-es" "$@"\n' \
  "$root" "$root" >"$plugin"

protoc \
  -I google/protobuf/any.proto=$known/any/any.proto \
  -I google/protobuf/empty.proto=$known/empty/empty.proto \
  -I google/protobuf/timestamp.proto=$known/timestamp/timestamp.proto \
  -I $gocode/osrg/gobgp/api \
  --plugin=protoc-gen-es="$plugin" --es_out=. --es_opt=target=ts,import_extension=ts \
  gobgp.proto attribute.proto capability.proto
