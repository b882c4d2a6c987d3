#!/usr/bin/env bash
# Tests and measures the CUDA device of Troupe on a machine with a GPU.
#
#   ./run.sh STEP...        steps are 1 to 8, or all
#
# It needs NVIDIA's driver, bash and gzip. Each step takes at most 8 minutes and writes one
# file into $OUT (default: results). The exit status is 1 if anything failed. Results of
# kernels with a wrong hash are packed into $OUT/outputs.tar.gz, to be compared with those of
# the emulation.
#
#   1 modules    every kernel loads, and is what the manifest says
#   2 kernels    every kernel gives the bits of the emulation (golden hashes)
#   3 device     the device suite: agreement with the reference, exactness, bad input
#   4 engine     the binary serves; its answers have the hashes of the emulation
#   5 ceilings   bandwidth and peak, and the share of them that each kernel reaches
#   6 models     random weights of real shapes: decoding, a prompt, loading
#   7 sanitizer  memcheck and racecheck, where compute-sanitizer is installed
#   8 peers      the same decoding in PyTorch, where it is installed
#
# Variables: OUT; TROUPE_CUDA_DEVICE, the number of the GPU (0); TROUPE_CUDA_LIBRARY, the
# file of another driver; WORK, where the pack is unpacked (unpacked, beside this file);
# FEW=1 for fewer checks and requests and for small shapes, where the driver is the emulation.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "${OUT:=results}" || exit 1
OUT=$(cd "$OUT" && pwd) || exit 1
work=${WORK:-$here/unpacked}
export TROUPE_CUDA_DEVICE=${TROUPE_CUDA_DEVICE:-0}
export CUDA_DEVICE_ORDER=PCI_BUS_ID # devices are counted as nvidia-smi counts them
most=8m
names=(none modules kernels device engine ceilings models sanitizer peers)

unpack() {
  [ -f "$work/complete" ] && return 0
  mkdir -p "$work" && gzip -dc "$here/unpack.gz" >"$work/unpack" && chmod +x "$work/unpack" &&
    "$work/unpack" "$here/pack.tar.xz" "$work" && : >"$work/complete"
}

troupe() { "$work/troupe-cuda" "$@"; }

# find_gpu sets gpu to the line of the device, or says why it cannot be used.
gpu=
find_gpu() {
  while read -r gpu; do
    case $gpu in
    "cuda:$TROUPE_CUDA_DEVICE "*'cannot be used: '*) break ;;
    "cuda:$TROUPE_CUDA_DEVICE "*) return 0 ;;
    'cuda '*) break ;;
    esac
  done < <(troupe inspect devices)
  echo "FAIL: device $TROUPE_CUDA_DEVICE cannot be used: ${gpu:-the driver does not have it}" >&2
  return 1
}

header() {
  echo "troupe:  $(<"$work/commit")"
  echo "date:    $(date -u '+%Y-%m-%d %H:%M:%S UTC')"
  local driver=unknown
  [ -r /proc/driver/nvidia/version ] && read -r driver </proc/driver/nvidia/version
  if command -v nvidia-smi >/dev/null; then
    driver=$(nvidia-smi --query-gpu=name,driver_version,clocks.max.sm,clocks.max.mem,power.limit --format=csv,noheader -i "$TROUPE_CUDA_DEVICE" 2>/dev/null) || driver=unknown
  fi
  echo "GPU:     $gpu"
  echo "driver:  $driver"
  [ -z "${TROUPE_CUDA_LIBRARY:-}" ] || echo "library: $TROUPE_CUDA_LIBRARY"
  echo
}

# gotest runs tests of a compiled test program. Its folder has the golden files.
gotest() {
  local program=$1 pattern=$2
  shift 2
  local few=()
  [ -z "${FEW:-}" ] || few=(-test.short)
  (cd "$work/$program" && exec "$@" "./$program.test" -test.v -test.timeout "$most" -test.run "$pattern" ${few[@]+"${few[@]}"})
}

bounded() {
  if command -v timeout >/dev/null; then timeout "$most" "$@"; else "$@"; fi
}

# Groups of kernels. Each has a process of its own, since an error can end all work of one.
groups=(rows pool attention sampling products decode prompt)

golden() {
  local group status=0
  mkdir -p "$work/outputs" && rm -f "$work"/outputs/*
  for group in "${groups[@]}"; do
    most=1m gotest cuda "^TestGolden\$/^$group\$" env TROUPE_GOLDEN_OUTPUTS="$work/outputs" || status=1
  done
  [ -z "$(ls "$work/outputs")" ] || tar -C "$work" -czf "$OUT/outputs.tar.gz" outputs
  return $status
}

run() {
  case $1 in
  1) gotest cuda '^TestModulesLoad$' ;;
  2) golden ;;
  3)
    if [ -z "${FEW:-}" ]; then
      gotest cuda '^(TestDevice|TestPlainDevice|TestRandomShapes)$'
    else
      gotest cuda '^TestDevice$'
    fi
    ;;
  4) TROUPE_BINARY=$work/troupe-cuda gotest binarytest '^TestEngineGolden$' ;;
  5) gotest cuda '^TestCeilings$' ;;
  6) gotest cuda '^TestModels$' ;;
  7)
    local tool group sanitizer status=0
    sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda*/bin/compute-sanitizer 2>/dev/null | head -n 1)
    if [ -z "$sanitizer" ]; then
      echo "SKIPPED: compute-sanitizer is not installed"
      return 0
    fi
    for tool in memcheck racecheck; do
      for group in "${groups[@]}"; do
        echo "== $tool of $group"
        # The end of a kernel's parameters is found by an error, which is none.
        most=1m gotest cuda "^TestGolden\$/^$group\$" "$sanitizer" --tool "$tool" --report-api-errors no --error-exitcode 1 --print-limit 20 || status=1
      done
    done
    return $status
    ;;
  8)
    if ! python3 -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null; then
      echo "SKIPPED: PyTorch with CUDA is not installed"
      return 0
    fi
    bounded python3 "$work/peers.py" ${FEW:+--few}
    ;;
  esac
}

# summarise reads a step's output, and counts. Lines are those of go test -v, or begin with
# a word of ours.
passed=0 failed=0 skipped=0
summarise() {
  local line
  while IFS= read -r line; do
    line=${line#"${line%%[![:space:]]*}"}
    line=${line/#*_test.go:+([0-9]): /}
    case $line in
    '--- PASS: '* | 'PASS '?* | 'PASS: '*) passed=$((passed + 1)) ;;
    '--- FAIL: '* | 'FAIL '?* | 'FAIL: '*) failed=$((failed + 1)) ;;
    '--- SKIP: '* | 'SKIPPED '* | 'SKIPPED: '*) skipped=$((skipped + 1)) ;;
    *) continue ;;
    esac
    line=${line#--- }
    line=${line/#SKIP: /SKIPPED: }
    case $line in PASS*) [ "$1" = 2 ] || [ "$1" = 7 ] || echo "  $line" ;; *) echo "  $line" ;; esac
  done
}
shopt -s extglob

step() {
  local number=$1 name=${names[$1]} file status begun=$SECONDS verdict=PASS
  file=$OUT/$number-$name.txt
  echo "== step $number, $name"
  passed=0 failed=0 skipped=0
  header >"$file"
  run "$number" >>"$file" 2>&1
  status=$?
  summarise "$number" <"$file"
  if [ $status -ne 0 ] || [ $failed -gt 0 ]; then
    verdict=FAIL
  elif [ $passed -eq 0 ] && [ $skipped -gt 0 ]; then
    verdict=SKIPPED
  elif [ $passed -eq 0 ]; then
    verdict=FAIL # nothing ran
  fi
  echo >>"$file"
  echo "$verdict step $number, $name: $passed passed, $failed failed, $skipped skipped, exit status $status, $((SECONDS - begun)) s" | tee -a "$file"
  [ $verdict = FAIL ] && echo "  see $file"
  [ $verdict != FAIL ]
}

[ $# -gt 0 ] || { echo "usage: $0 STEP...; steps are 1 to 8, or all" >&2; exit 2; }
steps=()
for s in "$@"; do
  case $s in
  all) steps+=(1 2 3 4 5 6 7 8) ;;
  [1-8]) steps+=("$s") ;;
  *) echo "$0: unknown step $s; use 1 to 8, or all" >&2; exit 2 ;;
  esac
done
unpack || { echo "FAIL: the pack cannot be unpacked into $work; set WORK to another folder" >&2; exit 1; }
find_gpu || exit 1
status=0
for s in "${steps[@]}"; do step "$s" || status=1; done
exit $status
