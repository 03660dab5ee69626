//! Puts in order what comes nearly in order of time: as each core's lines do, which run ahead of each
//! other by a little. What lies near in time gets into one bucket, so that little is left to compare.

/// Fewer than these are compared with each other.
const FEW: usize = 64;

/// Sorts by time, then by rank, and keeps the order of equals; `room` is for what it must move.
pub fn in_order<T: Copy>(all: &mut [T], room: &mut Vec<T>, key: impl Fn(&T) -> (u64, u32)) {
    let count = all.len();
    let first = all.iter().map(|one| key(one).0).min().unwrap_or(0);
    let last = all.iter().map(|one| key(one).0).max().unwrap_or(0);
    if count < FEW {
        return all.sort_by_key(key);
    }
    // Buckets of a power of two, at most twice as many as there is to sort.
    let buckets = count.next_power_of_two();
    let shift = (64 - (last - first).leading_zeros()).saturating_sub(buckets.trailing_zeros());
    let bucket = |one: &T| ((key(one).0 - first) >> shift) as usize;
    let mut begins = vec![0_u32; buckets + 1];
    for one in &*all {
        begins[bucket(one) + 1] += 1;
    }
    for index in 1..begins.len() {
        begins[index] += begins[index - 1];
    }
    room.clear();
    room.extend_from_slice(all);
    let mut places = begins.clone();
    for one in &*room {
        let place = &mut places[bucket(one)];
        all[*place as usize] = *one;
        *place += 1;
    }
    for ends in begins.windows(2) {
        if ends[1] - ends[0] > 1 {
            all[ends[0] as usize..ends[1] as usize].sort_by_key(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorts_as_the_library_does() {
        let mut seed = 1_u64;
        let mut random = move || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            seed >> 33
        };
        let mut room = Vec::new();
        for count in [0, 1, 63, 64, 65, 1000, 5000] {
            for span in [1, 3, 1 << 10, 1 << 31, u64::MAX] {
                let mut all: Vec<(u64, u32, usize)> = (0..count)
                    .map(|index| {
                        let time = if index % 3 == 0 { index as u64 } else { random() << 31 };
                        (time % span, random() as u32 % 3, index)
                    })
                    .collect();
                let mut expected = all.clone();
                expected.sort_by_key(|one| (one.0, one.1));
                in_order(&mut all, &mut room, |one| (one.0, one.1));
                assert_eq!(all, expected, "{count} within {span}");
            }
        }
    }
}
