#!/usr/bin/env bash
# Packs what `make gpu-pack` has built: pack.sh FOLDER_OF_PARTS PACK COMMIT.
#
# The parts go into one archive, so that what the programs share is packed once. xz with
# the filter for x86 code makes it a quarter smaller than gzip; the target need not have
# xz, since unpack.gz, a static program, unpacks it.
set -euo pipefail
parts=$1 pack=$2 commit=$3
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../..
most=20000000 # bytes

command -v xz >/dev/null || { echo "gpu-pack: xz is missing; install it (Debian's package xz-utils)" >&2; exit 1; }
rm -rf "$pack"
mkdir -p "$pack" "$parts/cuda/testdata" "$parts/binarytest/testdata"
cp "$root"/gpu/cuda/testdata/golden-*.txt "$parts/cuda/testdata/"
cp "$root"/testkit/binarytest/testdata/engine-*.txt "$parts/binarytest/testdata/"
cp "$here/peers.py" "$parts/"
echo "$commit" >"$parts/commit"
tar -C "$parts" --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 --exclude=./unpack -cf - . |
  xz --x86 --lzma2=preset=9e,dict=64MiB -T1 >"$pack/pack.tar.xz"
gzip -9nc "$parts/unpack" >"$pack/unpack.gz"
cp "$here/run.sh" "$pack/run.sh"
chmod +x "$pack/run.sh"

bytes=0
for f in "$pack"/*; do bytes=$((bytes + $(wc -c <"$f"))); done
echo "$pack: $bytes bytes"
if [ "$bytes" -gt "$most" ]; then
  echo "gpu-pack: the pack has $bytes bytes; at most $most are allowed" >&2
  exit 1
fi
