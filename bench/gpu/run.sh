#!/bin/sh
# Runs every program that needs a GPU, in less than 8 minutes: `./dev check --only cuda` packs the
# programs into build/gpu, and this script runs them on a machine with an NVIDIA GPU.
#
#   bench/gpu/run.sh        results below $OUT, or build/gpu-run/ if OUT is not set
#   BUILD=dir               the folder of bin/ and lib/, by default build/gpu
#   LIMIT_S=470             seconds for all steps together
#   STEP_LIMIT_S=n          no step may take longer, whatever its own limit is
#   FILES=dir               a folder on the disk to read from, by default that of the results
#
# Needs glibc 2.34 and the driver (580 or later); no compiler, no network; Python for the Python
# steps alone, with numpy and llvmlite for Psylang's. Each step has a time limit of its own and is
# killed when it expires. summary.txt holds the outcome of each step. record/DATE-DEVICE holds what
# is worth keeping: copy it into bench/results/gpu, and ./dev format makes docs/results/gpu.md of it.
# Exit: 0 all steps passed, 1 one failed or ran out of time, 77 no GPU can be used here.
set -u

root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
build=${BUILD:-$root/build/gpu}
out=${OUT:-$root/build/gpu-run}
limit_all_s=${LIMIT_S:-470}
begin=$(date +%s)
failed=0

if [ ! -x "$build/bin/conformance_gpu_test" ]; then
  echo "run.sh: $build/bin holds no programs; build them with: ./dev check --only cuda" >&2
  exit 1
fi
mkdir -p "$out" || exit 1
: >"$out/summary.txt"
export LD_LIBRARY_PATH="$build/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
# The machine's own C++ library if it is new enough, else the one that was carried along.
if ! "$build/bin/k2k" --version >/dev/null 2>&1; then
  LD_LIBRARY_PATH="$build/lib/fallback:$LD_LIBRARY_PATH"
  if ! why=$("$build/bin/k2k" --version 2>&1); then
    echo "run.sh: programs do not start here (glibc 2.34 is needed): $why" >&2
    exit 1
  fi
fi
# Nothing of the user's settings takes part; kernels are loaded at once, not when first used.
export K2K_CONFIG=/dev/null CUDA_MODULE_LOADING=EAGER

say() {
  echo "$*" | tee -a "$out/summary.txt"
}

now_ms() { echo $(($(date +%s%N) / 1000000)); }

# step NAME SECONDS FILE COMMAND...: standard output into FILE, the rest into FILE.log.
step() {
  name=$1 limit=$2 file=$3
  shift 3
  left=$((limit_all_s - ($(date +%s) - begin)))
  if [ "$left" -lt 5 ]; then
    say "NOT RUN $name: the time is up"
    failed=1
    return 1
  fi
  [ "$limit" -lt "$left" ] || limit=$left
  [ "$limit" -lt "${STEP_LIMIT_S:-$limit}" ] || limit=${STEP_LIMIT_S:-$limit}
  start=$(now_ms)
  timeout -k 5 "$limit" "$@" >"$out/$file" 2>"$out/$file.log" </dev/null
  code=$?
  spent=$(($(now_ms) - start))
  spent="$((spent / 1000)).$(printf %03d $((spent % 1000)))"
  case $code in
    0) say "passed  $name (${spent} s)" ;;
    77) say "SKIPPED $name: $(tail -n 1 "$out/$file.log")" ;;
    124 | 137) say "TIMEOUT $name after ${limit} s" ;;
    *) say "FAILED  $name: exit $code, see $file and $file.log" ;;
  esac
  [ "$code" -eq 0 ] || [ "$code" -eq 77 ] || failed=1
  return "$code"
}

commit=$(cat "$build/commit.txt" 2>/dev/null || echo unknown)
say "K2K on a GPU, $(date -u +%Y-%m-%dT%H:%M:%SZ), commit $commit"
if command -v nvidia-smi >/dev/null 2>&1; then
  step "nvidia-smi" 20 nvidia-smi.txt nvidia-smi -q
  say "driver  $(sed -n 's/^Driver Version *: //p' "$out/nvidia-smi.txt" | head -n 1)"
fi
say "host    $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc) cores," \
  "Linux $(uname -r)"
# The first step that needs the device decides whether there is one.
step "capabilities" 60 capabilities.jsonl "$build/bin/device_bench_cuda" capabilities
if [ $? -eq 77 ]; then
  echo "run.sh: no GPU that K2K can use; nothing was measured" >&2
  exit 77
fi
step "k2k info" 30 info.json env K2K_BACKEND=cuda "$build/bin/k2k" info --json
step "k2k doctor" 60 doctor.txt env K2K_BACKEND=cuda "$build/bin/k2k" doctor
step "conformance" 120 conformance.txt "$build/bin/conformance_gpu_test" --gtest_color=no
# 8,000 comparisons make a folder each.
calls=$out
[ -w /dev/shm ] && calls=/dev/shm
step "system calls" 60 calls.json env TMPDIR="$calls" "$build/bin/k2k" calls --verify --gpu --json
for example in 01_read_a_file 02_groups_and_order 03_not_waiting 04_udp_echo; do
  step "example $example" 20 "example_$example.txt" "$build/bin/${example}_cuda"
done
step "bus" 60 bus.jsonl "$build/bin/device_bench_cuda" bus
step "round trip" 60 roundtrip.jsonl "$build/bin/device_bench_cuda" roundtrip
step "throughput" 90 throughput.jsonl "$build/bin/device_bench_cuda" throughput
step "turns" 60 turns.jsonl "$build/bin/device_bench_cuda" turns
step "long reads" 30 together.jsonl "$build/bin/device_bench_cuda" together
step "idle" 60 idle.jsonl "$build/bin/device_bench_cuda" idle

# File data into the GPU's memory, planned with the costs that are measured here. A tmpfs has neither
# cold data nor O_DIRECT.
disk=$out
for folder in "${FILES:-$out}" "$root" /var/tmp /tmp; do
  [ -w "$folder" ] && [ "$(stat -f -c %T "$folder")" != tmpfs ] && disk=$folder && break
done
scratch=$(mktemp -d -p "$disk")
export K2K_PROFILE_DIR="$scratch/profiles"
step "route engines" 30 engines.json "$build/bin/k2k" route engines --json
step "calibrate" 30 calibrate.jsonl "$build/bin/k2k" calibrate --memory cuda --seconds 10 --json "$disk"
say "disk    $(stat -f -c %T "$disk")"
step "file data" 60 file_into_device.jsonl "$build/bin/file_bench_cuda" --folder "$scratch" --seconds 30
# A program that knows nothing of K2K, with the library and without: alone, Linux answers EFAULT.
cp "$build/bin/k2k" "$scratch/data"
step "unmodified program" 30 unmodified.txt env LD_PRELOAD="$build/lib/libk2k_io.so" K2K_IO_STATS=1 \
  "$build/bin/cuda_unmodified" "$scratch/data"
say "noted   the same without the library: $(timeout 20 "$build/bin/cuda_unmodified" "$scratch/data" 2>&1 | tail -n 1)"

# The GPU's memory itself, without K2K: the reach of its TLBs, and the cost of page faults.
step "translation" 30 translation.jsonl "$build/bin/memory_probe_cuda" translation
step "managed memory" 40 managed.jsonl "$build/bin/memory_probe_cuda" --mib 64 managed

# k2k grep on the GPU must print the names that GNU grep prints.
tree=/usr/include
words="$root/apps/grep/demo_words.txt"
if [ ! -d "$tree" ] || [ "$(find "$tree" -type f 2>/dev/null | head -n 100 | wc -l)" -lt 100 ]; then
  tree=/usr/share
fi
find "$tree" -type f -exec cat {} + >/dev/null 2>&1  # Into the page cache, for all three.
step "GNU grep" 30 grep_gnu.txt env LC_ALL=C grep -r -F -l -f "$words" "$tree"
for how in work-item work-group; do
  step "k2k grep by $how" 60 "grep_$how.txt" env K2K_BACKEND=cuda \
    "$build/bin/k2k" grep -F -l -f "$words" --granularity "$how" --json "$tree"
done
for how in work-item work-group; do
  facts=$(tail -n 1 "$out/grep_$how.txt.log")
  case $facts in
    "{"*) echo "{\"granularity\":\"$how\",\"run\":$facts}" ;;
  esac
done >"$out/grep.jsonl"
for how in work-item work-group; do
  sort "$out/grep_$how.txt" >"$out/grep_$how.sorted"
  sort "$out/grep_gnu.txt" >"$out/grep_gnu.sorted"
  if cmp -s "$out/grep_$how.sorted" "$out/grep_gnu.sorted" && [ -s "$out/grep_gnu.sorted" ]; then
    say "passed  the names of k2k grep by $how are GNU grep's"
  else
    say "FAILED  the names of k2k grep by $how differ from GNU grep's, or there are none"
    failed=1
  fi
done

# Applications on the GPU must give what their counterparts on the CPU give.
inputs=$(mktemp -d)
same_as() { # NAME FILE EXPECTED
  if cmp -s "$2" "$3" && [ -s "$3" ]; then
    say "passed  $1 gives what its counterpart on the CPU gives"
  else
    say "FAILED  $1 gives something else than its counterpart on the CPU, or nothing"
    failed=1
  fi
}
"$build/bin/k2k-wordcount" --generate "$inputs/words"
step "wordcount" 60 wordcount.txt env K2K_BACKEND=cuda "$build/bin/k2k-wordcount" \
  -f "$inputs/words/strings" "$inputs/words/files"
same_as "wordcount" "$out/wordcount.txt" "$inputs/words/counts"
"$build/bin/k2k-signal-search" --generate "$inputs/table"
"$build/bin/k2k-signal-search" --by serial "$inputs/table/records" "$inputs/table/queries" \
  >"$inputs/digests"
step "signal-search" 60 signal_search.txt env K2K_BACKEND=cuda "$build/bin/k2k-signal-search" \
  "$inputs/table/records" "$inputs/table/queries"
same_as "signal-search" "$out/signal_search.txt" "$inputs/digests"
"$build/bin/k2k-graph500" --generate "$inputs/graph"
"$build/bin/k2k-graph500" --by serial "$inputs/graph" | head -n 1 >"$inputs/levels"
step "graph500" 60 graph500.txt env K2K_BACKEND=cuda "$build/bin/k2k-graph500" --mode pinned \
  "$inputs/graph"
head -n 1 "$out/graph500.txt" >"$inputs/levels_gpu"
same_as "graph500" "$inputs/levels_gpu" "$inputs/levels"
# Each answer is a sum over the bits of all results, the same for every mode and device.
for program in comd minife bpt xsbench; do
  "$build/bin/k2k-$program" --generate "$inputs/$program" >/dev/null
  K2K_BACKEND=cpu "$build/bin/k2k-$program" --json --mode pinned "$inputs/$program/unsorted" |
    grep -o '"bits":[^,}]*' >"$inputs/$program.bits"
  for mode in demand pinned; do
    step "$program, $mode" 30 "${program}_$mode.json" env K2K_BACKEND=cuda \
      "$build/bin/k2k-$program" --json --mode "$mode" "$inputs/$program/unsorted"
    grep -o '"bits":[^,}]*' "$out/${program}_$mode.json" >"$inputs/bits"
    same_as "$program, $mode," "$inputs/bits" "$inputs/$program.bits"
    seconds=$(grep -o '"seconds":[^,}]*' "$out/${program}_$mode.json" | head -n 1)
    kernels=$(grep -o '"kernel_seconds":[^,}]*' "$out/${program}_$mode.json")
    [ -z "$seconds" ] || [ -z "$kernels" ] ||
      echo "{\"program\":\"$program\",\"mode\":\"$mode\",$seconds,$kernels}" >>"$out/programs.jsonl"
  done
done
step "memcached" 60 memcached.jsonl env K2K_BACKEND=cuda "$build/bin/k2k-memcached" --json --load
rm -rf "$inputs"

# Python: kernels of Numba, cuda.core, CuPy and PyTorch, and reads into device memory. PyTorch has
# too many kernels to load at once.
if command -v python3 >/dev/null 2>&1; then
  step "python" 150 python.jsonl env -u CUDA_MODULE_LOADING K2K_LIBRARY="$build/lib/libk2k.so" \
    python3 -B "$root/python/gpu_check.py"
else
  say "SKIPPED python: it is not installed"
fi

# What a GPU's requests take from a CPU program, and it from them.
step "interference" 55 interference.jsonl env K2K_BACKEND=cuda "$build/bin/k2k" \
  lab interference compute --quick --source kernel --setting default --setting default+cap=5% \
  --seconds 35 --json

# Psylang's models on the GPU: bits first, then times beside the CPU's.
if python3 -c 'import numpy, llvmlite' 2>/dev/null; then
  step "psylang, bits" 70 psylang_check.jsonl env PYTHONPATH="$root/psylang" \
    python3 "$root/psylang/bench_cuda.py" --check
  step "psylang, times" 70 psylang.jsonl env PYTHONPATH="$root/psylang" \
    python3 "$root/psylang/bench_cuda.py"
else
  say "SKIPPED psylang: there is no python3 with numpy and llvmlite"
fi

# NVIDIA's cuFile, whose start may never end where there is no nvidia-fs.
step "file data by cuFile" 40 file_by_cufile.jsonl env \
  LD_LIBRARY_PATH="$LD_LIBRARY_PATH:$build/lib/cufile" \
  "$build/bin/file_bench_cuda" --folder "$scratch" --mib 32 --seconds 12 --cufile
rm -rf "$scratch"

# Last, because it is slow.
sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda*/bin/compute-sanitizer 2>/dev/null |
  head -n 1)
if [ -n "$sanitizer" ]; then
  for tool in memcheck synccheck; do
    step "compute-sanitizer $tool" 60 "sanitizer_$tool.txt" "$sanitizer" --tool "$tool" \
      --error-exitcode 9 "$build/bin/conformance_gpu_test" --gtest_color=no
  done
else
  say "SKIPPED compute-sanitizer: it is not installed"
fi

say "$(($(date +%s) - begin)) s"

device=$(sed -n 's/.*"device":"\([^"]*\)".*/\1/p' "$out/capabilities.jsonl" | head -n 1)
device=$(echo "$device" | tr '[:upper:]' '[:lower:]' | tr -cs '[:alnum:]' '-' | sed 's/^-//; s/-$//')
record="$out/record/$(date -u +%Y-%m-%d)-$device"
mkdir -p "$record"
cp "$out/summary.txt" "$record/"
# Whole lines alone: a step that ran out of time may have left a part of one.
for file in "$out"/*.jsonl; do
  grep '}$' "$file" >"$record/${file##*/}" || rm -f "$record/${file##*/}"
done
echo "the record: $record"
exit "$failed"
