//! How an interface chooses.

use super::*;
use crate::testing::machine;

/// A command that was chosen stays so while its interface is full; other interfaces choose on
/// their own.
#[test]
fn each_interface_keeps_its_choice() {
    let mut frontend = Frontend::new(&machine());
    assert_eq!(frontend.choose(9), [None; 3]);
    frontend.offer(10, 2, Kind::HostDma);
    assert_eq!(frontend.choose(9), [None; 3]);
    assert_eq!(frontend.next(9), Some(10));
    assert_eq!(frontend.choose(10), [None, None, Some(2)]);
    frontend.offer(11, 0, Kind::HostDma);
    frontend.offer(11, 1, Kind::Send);
    assert_eq!(frontend.choose(11), [None, Some(1), Some(2)]);
    frontend.take(11, Kind::HostDma as usize);
    assert_eq!(frontend.next(11), Some(12));
    assert_eq!(frontend.choose(12), [None, Some(1), Some(0)]);
    assert_eq!(frontend.next(12), None);
}
