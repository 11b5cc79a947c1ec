#!/bin/sh
# Makes the *_pb.ts of the protos beside it. Run it by hand after a change of these or of the plugin's version; the result
# is committed, so that a build needs no protoc.
# Needs: protobuf-compiler, libprotobuf-dev (Debian), and the npm packages of this project.
# A further call or field is copied into the proto with its number from GoBGP's own definitions
# (golang-github-osrg-gobgp-dev of Debian 12 for 3.x, of Debian 13's backports for 4.x); the tests in test/contract tell
# whether running speakers agree.
set -eu
cd "$(dirname "$0")"
root=$(git rev-parse --show-toplevel)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
plugin=$work/protoc-gen-es
printf '#!/bin/sh\nexec "%s/node_modules/.bin/bun" "%s/node_modules/@bufbuild/protoc-gen-es/bin/protoc-gen-es" "$@"\n' \
  "$root" "$root" >"$plugin"
chmod 700 "$plugin"
protoc -I /usr/include -I . --plugin=protoc-gen-es="$plugin" --es_out=. --es_opt=target=ts,import_extension=ts \
  gobgp.proto gobgp3.proto gobgp4.proto
