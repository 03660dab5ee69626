//! What runs tell. In: what the units of a machine say happened. Out: summaries, captures, traces,
//! faults in words, charts.
//!
//! | module | out |
//! |---|---|
//! | [`report`] | statistics, captures and the summary of a run of packet handlers |
//! | [`settling`] | who hears a nanoPU in parts of a run |
//! | [`trace`] | every instruction and event, as text or for Perfetto |
//! | [`fault`] | what went wrong, in words, with lines of source |
//! | [`load`] | what became of requests, as JSON |
//! | [`document`] | what JSON documents say of themselves |
//! | [`profile`] | where every cycle of every hart went |
//! | [`check`] | what a checker says of handlers' memory |
//! | [`words`] | numbers and names as every report writes them |
//! | [`plot`] | tables, CSV, SVG, published values beside ours |

pub mod check;
pub mod document;
pub mod fault;
pub mod gauges;
pub mod load;
pub mod plot;
pub mod profile;
pub mod report;
pub mod settling;
pub mod trace;
pub mod words;
