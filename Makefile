# The README's two commands are `make demo` and `make test`; both bring what is missing.
.PHONY: help demo test setup build tuned install wheel dist calibration figures speed hardware book clean

help:
	@echo "make demo         build, and answer the pings of a capture on the simulated NIC"
	@echo "make test         run every test"
	@echo "make setup        only bring what demo and test need"
	@echo "make build        build the command optimised whole, in some seven minutes on two processors"
	@echo "make tuned        build it by a profile of itself into target/tuned: up to 1.4 times as fast"
	@echo "make install      put \`pinion\` into cargo's bin folder, completions and man pages into yours"
	@echo "make wheel        build the Python package into out/wheels"
	@echo "make dist         build what a release consists of into out/dist"
	@echo "make calibration  bring the calibration table and the book's outputs up to date"
	@echo "make figures      make figures again and put them into the book"
	@echo "make speed        measure how fast it is, and put that into the book"
	@echo "make hardware     test the units in SystemVerilog, and measure their sizes"
	@echo "make book         build the book (needs mdbook: cargo install mdbook)"
	@echo "make clean        remove everything that was built; .toolchain stays"

demo:
	@scripts/demo.sh

test: setup
	@python3 scripts/test.py

setup:
	@scripts/setup.sh test

build:
	cargo build --release --locked --package pinion

# Wants rustup, which brings what merges profiles.
tuned:
	@scripts/setup.sh demo
	@python3 scripts/tuned.py

install:
	cargo install --locked --path crates/pinion
	@scripts/install_shell.sh

wheel:
	@scripts/wheel.sh

# Compiled as `make tuned` does; the same bytes in every folder: scripts/reproducible.py proves it.
dist:
	@scripts/setup.sh demo
	@python3 scripts/dist.py

# Both write into the working copy: look at the difference before committing it.
calibration:
	PINION_BLESS=1 cargo test --locked --package pinion --test calibration --test calibration_nanopu
	python3 tests/docs/run.py --write

# The same: the command's charts, then the comparisons that the book quotes. No test makes the nanoPU's
# three whole.
figures:
	cargo run --release --locked --package pinion -- figure pspin-all --out docs/src/figures
	cargo run --release --locked --package pinion -- figure nanopu-fig6 --out docs/src/figures
	cargo run --release --locked --package pinion -- figure nanopu-fig7 --out docs/src/figures
	cargo run --release --locked --package pinion -- figure nanopu-chain --out docs/src/figures
	cargo run --release --locked --package pinion -- figure nanopu-workloads --out docs/src/figures
	PINION_BLESS=1 cargo test --locked --package pinion --test figure_pspin

# Of what is compiled as a release is. Wants a quiet computer, and qemu-user and Spike for the rows beside ours. The JSON is
# kept from release to release.
speed: VERSION = $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml)
speed: tuned
	target/tuned/pinion bench --markdown --json docs/src/speed/$(VERSION).json >docs/tables/speed.md
	python3 tests/docs/run.py --pinion target/tuned/pinion docs/src/speed.md --write

# What `make test` has of it, and the book's table of sizes.
hardware:
	@scripts/setup.sh hardware
	cargo build --locked -p pinion
	python3 tests/hardware/run.py --all --packets 100000
	python3 tests/hardware/model.py
	python3 tests/hardware/nic.py
	python3 tests/hardware/calibrated.py
	python3 tests/hardware/nic.py --rows
	python3 tests/hardware/nanopu_nic.py --messages 40000 --gap 600
	python3 tests/hardware/nanopu_nic.py --p4 ndp --messages 40000 --gap 600
	python3 tests/hardware/nanopu_nic.py --p4 credit --messages 40000 --gap 600
	python3 tests/hardware/nanopu_nic.py --p4 dctcp --messages 40000 --gap 600
	cargo test --locked -p pinion-hardware --test in_the_loop -- --include-ignored
	cargo test --locked -p pinion --test nanoservice_blocks -- --include-ignored
	python3 tests/hardware/sizes.py
	python3 tests/docs/run.py docs/src/hardware.md docs/src/p4.md --write

book:
	mdbook build docs

clean:
	cargo clean
	rm -rf out docs/book
