//! `pspin-table3`: area and power of the components (PsPIN paper, table III), by the analytical
//! model of [`crate::area`].

use crate::area::{Component, Costs, Estimate};
use crate::figure::{Column, Definition, Figure, Parameters, Point, Row, Setting};
use pinion_app::error::Result;

/// Names the machine.
const MACHINE: &str = "pspin";

const AREA: &str = "area";
const POWER: &str = "power";

/// Names the row whose total is what all HPUs share.
const PER_HPU: &str = "per HPU";
/// Names the row of one core as it is placed on the chip.
const PLACED: &str = "core, placed";

pub(super) struct Table3;

impl Figure for Table3 {
    fn name(&self) -> &'static str {
        "pspin-table3"
    }

    fn columns(&self, _: &Definition) -> Vec<Column> {
        vec![
            Column::text("component"),
            Column::text("quantity"),
            Column::text("part of"),
            Column::number("instances", "", 0),
            Column::number("each", "", 4),
            Column::number("total", "", 3),
            Column::text("unit"),
            Column::number("share", "%", 1),
        ]
    }

    fn points(&self, _: &Definition, _: &Parameters) -> Result<Vec<Point>> {
        let point = |curve: &str| Point {
            label: curve.to_owned(),
            curve: curve.to_owned(),
            x: 0.0,
            stream: 0,
            ..Point::default()
        };
        Ok([AREA, POWER].map(point).to_vec())
    }

    fn run(&self, point: &Point, setting: &Setting<'_>) -> Result<Vec<Row>> {
        let machine =
            pinion_app::machine::load::<pinion_spin::Machine>(MACHINE, setting.machine, false)?
                .value;
        let estimate = Costs::read(setting.parameters)?.estimate(&machine);
        let is_area = point.curve == AREA;
        let mut rows: Vec<Row> =
            Component::ALL.iter().map(|component| row(&estimate, *component, is_area)).collect();
        if is_area {
            let core = estimate.part(Component::Core).each.area_mm2;
            let placed = core / setting.parameters.number("placement_density")?;
            rows.push(extra(PLACED, AREA, placed, "mm²"));
            rows.push(extra(PER_HPU, AREA, estimate.area_per_hpu_mm2(), "mm²"));
        } else {
            let watts = estimate.total().power_w / f64::from(estimate.hpus.max(1));
            rows.push(extra(PER_HPU, POWER, watts, "W"));
        }
        Ok(rows)
    }
}

/// Gives a component's line as the paper's table has it: totals and shares within its whole.
fn row(estimate: &Estimate, component: Component, is_area: bool) -> Row {
    let part = estimate.part(component);
    let pick = |cost: crate::area::Cost| if is_area { cost.area_mm2 } else { cost.power_w };
    let (each, total) = (pick(part.each), pick(part.total()));
    let whole = component.whole().map_or(total, |whole| pick(estimate.part(whole).each));
    vec![
        component.name().into(),
        (if is_area { AREA } else { POWER }).into(),
        component.whole().map_or("", Component::name).into(),
        u64::from(part.count).into(),
        each.into(),
        total.into(),
        (if is_area { "mm²" } else { "W" }).into(),
        (total / whole * 100.0).into(),
    ]
}

/// Gives a line that is no component.
fn extra(name: &str, quantity: &str, total: f64, unit: &str) -> Row {
    let no_share: Option<f64> = None;
    vec![
        name.into(),
        quantity.into(),
        "".into(),
        1u64.into(),
        total.into(),
        total.into(),
        unit.into(),
        no_share.into(),
    ]
}
