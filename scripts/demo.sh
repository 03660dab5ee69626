#!/usr/bin/env bash
# Builds Pinion, compiles a packet handler for the NIC's cores and answers the pings of a capture.
set -eu
cd "$(dirname "$0")/.."
scripts/setup.sh demo
cargo build --profile demo --locked --package pinion
pinion=${CARGO_TARGET_DIR:-target}/demo/pinion
mkdir -p out
"$pinion" build examples/icmp_echo
"$pinion" run examples/icmp_echo --pcap-in examples/icmp_echo/ping.pcap --pcap-out out/pong.pcap
cat <<EOF

The answers are in out/pong.pcap (open it with Wireshark, or: tshark -r out/pong.pcap).
The handler that made them: examples/icmp_echo/icmp_echo.c. Next: docs/src/tutorial.md
This build was made quickly; for long runs build one that is optimised whole: make build, or make install.
EOF
