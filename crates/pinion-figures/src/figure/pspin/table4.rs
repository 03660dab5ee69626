//! `pspin-table4`: the area of a processing element of PsPIN, an ARM and an x86 processor (PsPIN
//! paper, table IV). PsPIN's is the area model's of the machine; the others are the paper's.

use crate::area;
use crate::figure::{Column, Definition, Figure, Parameters, Point, Row, Setting};
use pinion_app::error::Result;

/// Names the machine.
const MACHINE: &str = "pspin";

pub(super) struct Table4;

impl Figure for Table4 {
    fn name(&self) -> &'static str {
        "pspin-table4"
    }

    fn columns(&self, _: &Definition) -> Vec<Column> {
        vec![
            Column::text("architecture"),
            Column::number("technology", "nm", 0),
            Column::number("die", "mm²", 2),
            Column::number("elements", "", 0),
            Column::number("memory", "MiB", 3),
            Column::number("per_element", "mm²", 3),
            Column::number("scaled", "mm²", 3),
        ]
    }

    fn points(&self, _: &Definition, _: &Parameters) -> Result<Vec<Point>> {
        let point = |name: &str| Point {
            label: name.to_owned(),
            curve: name.to_owned(),
            x: 0.0,
            stream: 0,
            ..Point::default()
        };
        Ok(["ault", "zynq", "PsPIN"].map(point).to_vec())
    }

    fn run(&self, point: &Point, setting: &Setting<'_>) -> Result<Vec<Row>> {
        let number = |what: &str| {
            setting.parameters.number(&format!("{}_{what}", point.curve.to_lowercase()))
        };
        let (die, elements, memory, per_element, scaled) = if point.curve == "PsPIN" {
            let machine =
                pinion_app::machine::load::<pinion_spin::Machine>(MACHINE, setting.machine, false)?
                    .value;
            let estimate = area::estimate(&machine)?;
            let l1 = u64::from(machine.l1.bytes) * u64::from(machine.cluster.count);
            let l2 = u64::from(machine.l2_handler.bytes) + u64::from(machine.l2_packet.bytes);
            let units = u64::from(machine.units.count);
            let per_hpu = estimate.area_per_hpu_mm2();
            let mib = (units * (l1 + l2)) as f64 / f64::from(1 << 20);
            (estimate.total().area_mm2, f64::from(estimate.hpus), mib, per_hpu, per_hpu)
        } else {
            let (die, elements) = (number("die_mm2")?, number("elements")?);
            (
                die,
                elements,
                number("memory_mib")?,
                number("per_element_mm2")?,
                number("scaled_mm2")?,
            )
        };
        Ok(vec![vec![
            point.curve.as_str().into(),
            number("technology_nm")?.into(),
            die.into(),
            elements.into(),
            memory.into(),
            per_element.into(),
            scaled.into(),
        ]])
    }
}
