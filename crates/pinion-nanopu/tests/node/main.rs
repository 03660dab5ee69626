//! Whole-machine tests of a nanoPU node.

mod echo;
mod overrides;
mod saved;
mod support;
