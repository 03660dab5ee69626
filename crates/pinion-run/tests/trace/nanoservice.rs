//! Traces of a nanoPU: events come in, slices and counters come out.

use pinion_nanopu::Cycle;
use pinion_nanopu::event::{Event, Listener as _};
use pinion_observe::trace::perfetto::Corner;
use pinion_run::nanoservice::run::Settling as _;
use pinion_run::nanoservice::{Filter, NodeTrace};
use pinion_sim::Clock;

use crate::reading::read;

#[test]
fn a_message_is_a_slice_of_its_hart() {
    let mut bytes = Vec::new();
    let clock = Clock::from_hz(3_200_000_000);
    let mut trace =
        NodeTrace::new(clock, Filter::default(), 2, Corner::only(), &mut bytes).unwrap();
    let last = |last| Event::EgressOut { last };
    let word = Event::ReceiveWord { hart: 1, context: 0, last: false };
    // Out of order, as units tell.
    for (at, event) in [
        (96, last(false)),
        (128, last(true)),
        (32, word),
        (33, word),
        (64, Event::ReceivePop { hart: 1 }),
        (67, Event::ReceivePop { hart: 1 }),
        (70, Event::TransmitWord { hart: 1 }),
        (80, Event::MessageDone { hart: 1 }),
        (160, Event::Timeout),
    ] {
        trace.event(at, event);
    }
    trace.settle(100).unwrap();
    trace.settle(Cycle::MAX).unwrap();
    drop(trace);
    let read = read(&bytes);
    let told: Vec<_> = read
        .slices
        .iter()
        .map(|slice| (&slice.track[..], &slice.name[..], slice.begin, slice.end))
        .collect();
    let expected = [
        ("Hart 1", "message", 20, 25),
        ("Egress link", "frame", 30, 40),
        ("Transport", "message timed out", 50, 50),
    ];
    assert_eq!(told, expected);
    assert_eq!(read.counters["Words in the receive queue"], [1, 2, 1, 0]);
}
