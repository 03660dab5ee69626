//! An estimate as lines of texts, the head first, for aligned printing.

use super::{Component, Cost, Estimate};

/// Gives the table of an estimate; beside another machine's it shows what the change costs.
pub fn rows(estimate: &Estimate, before: Option<&Estimate>) -> Vec<Vec<String>> {
    let mut head = ["component", "instances", "mm² each", "mm²", "share", "W each", "W", "share"]
        .map(str::to_owned)
        .to_vec();
    if before.is_some() {
        head.extend(["change in mm²", "in W"].map(str::to_owned));
    }
    head.push("grows with".to_owned());
    let mut lines = vec![head];
    lines.extend(Component::ALL.map(|component| {
        let mut line = vec![
            format!("{}{}", "  ".repeat(component.depth()), component.name()),
            estimate.instances(component).to_string(),
        ];
        line.extend(numbers(estimate, component));
        if let Some(before) = before {
            let (now, then) = (all(estimate, component), all(before, component));
            line.push(signed(now.area_mm2 - then.area_mm2));
            line.push(signed(now.power_w - then.power_w));
        }
        line.push(component.grows_with().to_owned());
        line
    }));
    lines
}

fn numbers(estimate: &Estimate, component: Component) -> [String; 6] {
    let (each, all, whole) =
        (estimate.part(component).each, all(estimate, component), estimate.total());
    [
        small(each.area_mm2),
        format!("{:.2}", all.area_mm2),
        share(all.area_mm2, whole.area_mm2),
        small(each.power_w),
        format!("{:.2}", all.power_w),
        share(all.power_w, whole.power_w),
    ]
}

/// Gives what all of a component in the machine take.
fn all(estimate: &Estimate, component: Component) -> Cost {
    estimate.part(component).each.times(f64::from(estimate.instances(component)))
}

/// Writes a number with three decimals where two would tell little.
fn small(number: f64) -> String {
    if number < 0.1 { format!("{number:.3}") } else { format!("{number:.2}") }
}

fn share(part: f64, whole: f64) -> String {
    format!("{:.1} %", if whole > 0.0 { part / whole * 100.0 } else { 0.0 })
}

fn signed(number: f64) -> String {
    match format!("{number:+.2}").as_str() {
        "+0.00" | "-0.00" => String::new(),
        text => text.replace('-', "−"),
    }
}
