#!/usr/bin/env bash
# Builds the Python package into a wheel, the command inside, with maturin from PyPI in an environment of
# its own.
#
#   scripts/wheel.sh [--profile PROFILE] [--target TRIPLE] [--out FOLDER] [--command FILE]
#
# Defaults: release, this computer, out/wheels.
# Without --command the command is built with the same profile.
# Prints the wheel's path. Exit status 3 when maturin is not there and PyPI cannot be reached.
set -eu
cd "$(dirname "$0")/.."
readonly environment=.toolchain/maturin pinned=maturin==1.16.0 log=.toolchain/maturin.log
profile=release target= out=out/wheels command=
while [ $# -gt 0 ]; do
    case $1 in
    --profile) profile=$2 ;;
    --target) target=$2 ;;
    --out) out=$2 ;;
    --command) command=$2 ;;
    *) echo "wheel: unknown argument $1: --profile PROFILE, --target TRIPLE, --out FOLDER, --command FILE" >&2; exit 2 ;;
    esac
    shift 2
done
mkdir -p .toolchain "$out"
has_maturin() { [ "$("$environment/bin/maturin" --version 2>/dev/null)" = "${pinned/==/ }" ]; }
if ! has_maturin; then
    { python3 -m venv --clear "$environment" && "$environment/bin/python" -m pip install --no-input \
        --disable-pip-version-check "$pinned"; } >"$log" 2>&1 </dev/null || true
    has_maturin || { echo "wheel: $pinned could not be installed ($log)" >&2; exit 3; }
fi
rm -f "$out"/pinion-*.whl
if [ -z "$command" ]; then
    cargo build --locked --quiet --profile "$profile" ${target:+--target "$target"} --package pinion >&2
    # Cargo's folder for the profile `dev`.
    command=${CARGO_TARGET_DIR:-target}/${target:+$target/}${profile/#dev/debug}/pinion
fi
"$environment/bin/maturin" build --profile "$profile" ${target:+--target "$target"} --locked --out "$out" --quiet >&2
python3 scripts/packing.py "$out"/pinion-*.whl "$command"
ls "$out"/pinion-*.whl
