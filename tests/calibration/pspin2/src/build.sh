#!/bin/sh
# Builds ../elf/*.elf with Debian's gcc-riscv64-unknown-elf (12.2). boot.S, link.ld and hpu.h are the first set's.
set -e
cd "$(dirname "$0")"
first=../../pspin/src
for c in *.c *.S; do
    riscv64-unknown-elf-gcc -march=rv32ima_zicsr -mabi=ilp32 -O3 -mno-strict-align -mtune=thead-c906 -ffreestanding \
        -nostdlib -nostartfiles -fno-builtin -fno-common -mno-relax -I $first -T $first/link.ld $first/boot.S "$c" -o "../elf/${c%.*}.elf"
done
