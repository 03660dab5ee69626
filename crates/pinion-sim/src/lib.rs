//! The simulation kernel: time, clocks, event wheel, FIFOs, slabs, histograms, configuration.

pub mod config;
