//! Every number of a nanoPU node, as its file in `machines/` gives it with its source.

pub mod transport;
