//! Whole-machine tests of a nanoPU node.

mod by_rfc;
mod dctcp;
mod echo;
mod heard;
mod overrides;
mod p4;
mod saved;
mod support;
