//! The engine behind walls, in a process that has had no other engine: what the C library finds out only once
//! it must find out there.

mod support;

use pinion_native::{Confined, Incoming, Setup};
use pinion_net::generator::{Generator, GeneratorSpec};
use pinion_sim::probe::Deaf;

/// So many threads have more of the allocator's arenas than it makes without looking at the computer.
#[test]
fn many_workers_live_behind_walls() {
    let source = support::root().join("examples/empty/empty.c");
    let Some(image) = support::compile("confined", &[source], &[]) else { return };
    if let Some(why) = Confined::missing(false).unwrap() {
        return eprintln!("skipped: {why}");
    }
    let machine = support::machine();
    let contexts = support::contexts(&image, &[["", "empty_ph", ""]]);
    for workers in [8, 32] {
        let setup = Setup {
            machine: &machine,
            image: &image,
            contexts: &contexts,
            matching: support::matching(&["udp"], 1),
            workers,
            observed: true,
            handlers: true,
            counted: false,
        };
        let mut engine = Confined::new(setup).unwrap();
        let spec: GeneratorSpec = "udp,size=64,count=2000".parse().unwrap();
        for (tag, frame) in Generator::new(spec).enumerate() {
            engine.offer(Incoming { bytes: &frame.bytes, skip: 0, tag: tag as u64 }, &mut Deaf);
        }
        engine.settle(&mut Deaf);
        let lost = engine.take_error().map(|error| error.to_string());
        assert_eq!((lost, engine.totals().processed), (None, 2000), "{workers} workers");
    }
}
