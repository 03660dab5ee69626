//! Ranks that are threads.

use super::*;

#[test]
fn ranks_hear_each_other_and_the_first_gathers() {
    let heard = Joined::run(3, |ranks| {
        let own = ranks.rank() as u8;
        let status = Status { next: u64::from(own), open: 1, ..Status::NONE };
        let (parcels, together) =
            ranks.exchange((0..3).map(|to| vec![own, to]).collect(), status).unwrap();
        assert_eq!((together.next, together.open), (0, 3));
        (parcels, ranks.gather(vec![own]).unwrap())
    });
    assert_eq!(heard[1].0, [[0, 1], [1, 1], [2, 1]]);
    assert_eq!(heard[0].1, Some(vec![vec![0], vec![1], vec![2]]));
    assert_eq!(heard[2].1, None);
}
