//! Scenarios of a nanoPU node: a program, the frames it gets and a peer that answers; frames out,
//! their cycles, and what the summary says of them are compared.

pub mod drive;
pub mod observation;
pub mod peer;
pub mod set;
mod trace;
