//! The receive side: pins, ingress pipeline, reassembly, global receive queues, core selection.
