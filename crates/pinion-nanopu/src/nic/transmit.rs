//! The transmit side: packetization, timers, packet generator, egress pipeline, pins.
