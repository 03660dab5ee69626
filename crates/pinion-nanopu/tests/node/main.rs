//! Whole-machine tests of a nanoPU node.

mod dctcp;
mod echo;
mod overrides;
mod p4;
mod saved;
mod support;
