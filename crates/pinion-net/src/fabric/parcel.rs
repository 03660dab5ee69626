//! Frames on their way to another rank, as bytes: number of the wire, arrival, length, frame.

/// Bytes in front of a frame.
const HEAD_BYTES: usize = 4 + 8 + 4;

/// Adds a frame.
pub(super) fn add(parcel: &mut Vec<u8>, wire: usize, arrival: u64, frame: &[u8]) {
    parcel.extend_from_slice(&(wire as u32).to_le_bytes());
    parcel.extend_from_slice(&arrival.to_le_bytes());
    parcel.extend_from_slice(&(frame.len() as u32).to_le_bytes());
    parcel.extend_from_slice(frame);
}

/// Takes the next frame off the front; `None` inside: these bytes are no parcel.
pub(super) fn take(parcel: &mut &[u8]) -> Option<Option<(usize, u64, Vec<u8>)>> {
    if parcel.is_empty() {
        return None;
    }
    Some(split(parcel))
}

fn split(parcel: &mut &[u8]) -> Option<(usize, u64, Vec<u8>)> {
    let (head, rest) = parcel.split_at_checked(HEAD_BYTES)?;
    let wire = u32::from_le_bytes(head[..4].try_into().ok()?);
    let arrival = u64::from_le_bytes(head[4..12].try_into().ok()?);
    let bytes = u32::from_le_bytes(head[12..].try_into().ok()?);
    let (frame, rest) = rest.split_at_checked(bytes as usize)?;
    *parcel = rest;
    Some((wire as usize, arrival, frame.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_out_as_they_went_in() {
        let mut parcel = Vec::new();
        add(&mut parcel, 7, 1 << 40, &[1, 2, 3]);
        add(&mut parcel, 8, 5, &[]);
        let mut rest = parcel.as_slice();
        assert_eq!(take(&mut rest), Some(Some((7, 1 << 40, vec![1, 2, 3]))));
        assert_eq!(take(&mut rest), Some(Some((8, 5, vec![]))));
        assert_eq!(take(&mut rest), None);
        let mut cut = &parcel[..10];
        assert_eq!(take(&mut cut), Some(None));
    }
}
