//! FPsPIN's published figures, from the co-simulation: the examples' handlers on the simulated NIC,
//! host models around it ([`pinion_run::cosim`]).
//!
//! | file | what it is |
//! |---|---|
//! | `bench.rs` | what all share: programs, machine, host model |
//! | `published.rs` | published medians out of a figure's file |
//! | the others | a figure each; what varies stands in `figures/fpspin-*.toml` |

mod bench;
mod fig10;
mod fig7;
mod fig8;
mod published;

use std::sync::Arc;

use super::Figure;
use super::pspin::programs::Programs;

/// Lists the figures.
pub(super) fn figures(programs: &Arc<Programs>) -> Vec<Box<dyn Figure>> {
    vec![
        Box::new(fig7::Fig7 { programs: programs.clone() }),
        Box::new(fig8::Fig8 { programs: programs.clone() }),
        Box::new(fig10::Fig10 { programs: programs.clone() }),
    ]
}
