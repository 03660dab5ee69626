//! `--link`: the faults of the link to the NIC, for every verb that has one.

use pinion::Error;
use pinion::error::Result;
use pinion_net::fault::FaultSpec;

/// Reads the option of an application with packet handlers.
pub fn faults(text: Option<&str>) -> Result<Option<FaultSpec>> {
    let Some(text) = text else { return Ok(None) };
    if text.parse::<u64>().is_ok() {
        return Err(Error::Usage(format!(
            "--link {text}: a latency in cycles goes with nanoservices; packet handlers have a link \
             with faults, such as loss=1%,reorder=5%"
        )));
    }
    Ok(Some(text.parse::<FaultSpec>()?))
}
