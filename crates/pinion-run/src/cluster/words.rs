//! What happens to frames in a network, in words.

use pinion_net::switch::{DropCause, Unroutable};

/// Says why a switch dropped a frame.
pub fn drop_words(cause: DropCause) -> &'static str {
    match cause {
        DropCause::Unroutable(Unroutable::NotIpv4) => "frame is dropped: it is not IPv4",
        DropCause::Unroutable(Unroutable::Unknown) => {
            "frame is dropped: no node has its destination's address"
        }
        DropCause::Unroutable(Unroutable::NoWay) => {
            "frame is dropped: no way leads to its destination"
        }
        DropCause::DataFull => "frame is dropped: the data queue is full",
        DropCause::TrimmedFull => {
            "frame is dropped: the data queue is full, and the control queue has no room for its header"
        }
        DropCause::ControlFull => "frame is dropped: the control queue is full",
    }
}
