//! The processes that share a cluster's work. In: what `mpirun` tells those it starts. Out: the
//! [`Ranks`] that a fabric runs on: the only one, or one of several that MPI joins (feature `mpi`).

#[cfg(feature = "mpi")]
mod mpi;

use pinion_net::fabric::{Alone, Ranks};

use pinion_app::error::Result;

/// Names the variables in which launchers of Open MPI, MPICH and Slurm tell how many they started.
const COUNTS: [&str; 3] = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_SIZE"];

/// Tells how many processes a launcher of MPI programs started, if one did.
pub fn started() -> usize {
    let counts = COUNTS.iter().filter_map(|name| std::env::var(name).ok()?.parse().ok());
    counts.max().unwrap_or(1)
}

/// Does some work with the ranks there are; each does it, and all end it together.
///
/// When one of several fails, its message goes to standard error and all end with status 2: the
/// others would wait for it.
///
/// # Errors
/// Those of the work; and when `mpirun` started several processes of a pinion without MPI.
pub fn with<T>(work: impl FnOnce(&mut dyn Ranks) -> Result<T>) -> Result<T> {
    match started() {
        0 | 1 => work(&mut Alone),
        count => with_several(count, work),
    }
}

#[cfg(feature = "mpi")]
fn with_several<T>(_: usize, work: impl FnOnce(&mut dyn Ranks) -> Result<T>) -> Result<T> {
    mpi::with(work)
}

#[cfg(not(feature = "mpi"))]
fn with_several<T>(count: usize, _: impl FnOnce(&mut dyn Ranks) -> Result<T>) -> Result<T> {
    Err(pinion_app::Error::Usage(format!(
        "mpirun started {count} processes, but this pinion was built without MPI; on Debian: \
         apt-get install libopenmpi-dev openmpi-bin libclang-dev, then cargo build --release \
         --features mpi (or start it without mpirun: --threads N uses the processors of one machine)"
    )))
}
