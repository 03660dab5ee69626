//! What becomes of what a deparser of the way in puts out: payload for the core, or a frame of its own.

use pinion_p4::lnic::kept::Kept;

use super::super::Made;
use super::SHORTEST_FRAME_BYTES;

/// What becomes of what a deparser puts out (`xsa.p4`).
pub(super) const SEND_NOTHING: u64 = 0;
pub(super) const SEND_PACKET: u64 = 1;
const SEND_HEADERS: u64 = 2;

/// Lets what a deparser has put out go where the program says.
pub(super) fn send_out(
    (made, kept): (&mut Option<Box<Made>>, &mut Kept),
    send: u64,
    mut out: Vec<u8>,
    payload: &[u8],
) {
    match send {
        SEND_NOTHING if out.is_empty() => return,
        SEND_HEADERS => {}
        _ => out.extend_from_slice(payload),
    }
    let made = made.get_or_insert_default();
    if send == SEND_NOTHING {
        made.payload = Some(out);
    } else {
        out.resize(out.len().max(SHORTEST_FRAME_BYTES), 0);
        made.frames.push(out);
        kept.returned += 1;
    }
}
