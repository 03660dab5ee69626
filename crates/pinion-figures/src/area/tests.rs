//! What the estimate promises: the published values for the published machine, and more for more.

use super::*;

fn machine(overrides: &[&str]) -> Machine {
    let overrides: Vec<String> = overrides.iter().map(|text| (*text).to_owned()).collect();
    pinion_app::machine::load::<pinion_spin::Machine>("pspin", &overrides, false).unwrap().value
}

fn of(overrides: &[&str]) -> Estimate {
    estimate(&machine(overrides)).unwrap()
}

#[test]
fn the_published_configuration_is_the_default_machine() {
    assert_eq!(Sizes::of(&machine(&[])), Costs::published().unwrap().reference);
}

#[test]
fn the_default_machine_gives_table_3_back() {
    let estimate = of(&[]);
    // Columns "total" of table III, as printed there.
    let published = [
        (Component::Pspin, 18.47, 6.08),
        (Component::L2, 9.48, 1.10),
        (Component::Interconnect, 0.57, 0.71),
        (Component::Cluster, 7.95, 3.77),
        (Component::L1, 1.65, 0.52),
        (Component::Core, 0.08, 0.14),
        (Component::InstructionCache, 0.08, 0.14),
        (Component::ClusterInterconnect, 0.06, 0.11),
    ];
    let rounded = |number: f64| (number * 100.0).round() / 100.0;
    for (component, area_mm2, power_w) in published {
        let total = estimate.part(component).total();
        let found = (rounded(total.area_mm2), rounded(total.power_w));
        assert_eq!(found, (area_mm2, power_w), "{component:?}");
    }
    assert_eq!(format!("{:.3}", estimate.area_per_hpu_mm2()), "0.577");
    assert_eq!(format!("{:.0}", estimate.total().power_w / 32.0 * 1000.0), "190");
    assert!(estimate.remarks.is_empty());
}

#[test]
fn parts_add_up_to_their_whole() {
    for overrides in [&["cluster.count=8"][..], &["cluster.cores=16", "l1.bytes=524288"], &[]] {
        let estimate = of(overrides);
        for whole in [Component::Pspin, Component::Cluster] {
            let inside = estimate.parts.iter().filter(|part| part.component.whole() == Some(whole));
            let sum = inside.fold(Cost::default(), |sum, part| sum.plus(part.total()));
            let each = estimate.part(whole).each;
            assert!((sum.area_mm2 - each.area_mm2).abs() < 1e-9, "{whole:?} {overrides:?}");
            assert!((sum.power_w - each.power_w).abs() < 1e-9, "{whole:?} {overrides:?}");
        }
        assert!(estimate.parts.iter().all(|part| part.each.area_mm2 > 0.0));
        assert_eq!(estimate.instances(Component::Core), estimate.hpus);
    }
}

#[test]
fn every_number_costs_what_it_is_said_to() {
    let default = of(&[]);
    let grown = |overrides: &[&str], component| {
        of(overrides).part(component).total().area_mm2 / default.part(component).total().area_mm2
    };
    let near = |found: f64, wanted: f64| assert!((found - wanted).abs() < 1e-9, "{found}");
    near(grown(&["cluster.count=8"], Component::Cluster), 2.0);
    near(grown(&["l1.bytes=2097152"], Component::L1), 2.0);
    near(grown(&["cluster.cores=16"], Component::Core), 2.0);
    near(grown(&["cluster.cores=16"], Component::ClusterInterconnect), 1.8);
    near(grown(&["l1.banks=32"], Component::ClusterInterconnect), 0.5);
    near(grown(&["instruction_cache.bytes=8192"], Component::InstructionCache), 2.0);
    near(grown(&["mpq.shared_cells=512"], Component::Scheduler), 2.0);
    // Half of the packet buffer: 2 MiB of 8 MiB and 32 KiB.
    near(grown(&["l2_packet.bytes=2097152"], Component::L2), 1.0 - 64.0 / 257.0);
    let wide = ["dma.port_bytes=128", "inbound.port_bytes=128", "command.port_bytes=128"];
    let wider = grown(&wide, Component::Interconnect);
    assert!((1.9..2.0).contains(&wider), "{wider}");
}

#[test]
fn power_follows_the_clock_and_area_does_not() {
    let (default, half) = (of(&[]).total(), of(&["clock.frequency_mhz=500"]).total());
    assert!((half.area_mm2 - default.area_mm2).abs() < 1e-9);
    assert!((half.power_w / default.power_w - 0.501).abs() < 1e-9);
    assert_eq!(of(&["clock.frequency_mhz=1500"]).remarks.len(), 1);
}

#[test]
fn several_units_take_several_times_as_much() {
    let (one, two) = (of(&[]), of(&["units.count=2"]));
    assert!((two.total().area_mm2 / one.total().area_mm2 - 2.0).abs() < 1e-9);
    assert_eq!((two.instances(Component::Core), two.hpus), (64, 64));
    assert_eq!(two.remarks.len(), 1);
}

#[test]
fn a_smaller_core_saves_gates() {
    let (default, ibex) = (of(&[]), of(&["core.model=ibex"]));
    let core = |estimate: &Estimate| estimate.part(Component::Core).each.area_mm2;
    assert!((core(&ibex) / core(&default) - 0.48).abs() < 1e-9);
    assert!(ibex.remarks[0].contains("PMP"));
}

#[test]
fn the_table_has_a_line_for_each_component_and_shows_changes() {
    let (before, after) = (of(&[]), of(&["cluster.count=8"]));
    let lines = rows(&after, Some(&before));
    assert_eq!(lines.len(), Component::ALL.len() + 1);
    assert!(lines.iter().all(|line| line.len() == lines[0].len()));
    let cluster = lines.iter().find(|line| line[0].trim() == "cluster").unwrap();
    assert_eq!(cluster[1], "8");
    assert_eq!(cluster[8], "+7.95");
    assert_eq!(rows(&before, None)[1][3], "18.47");
}
