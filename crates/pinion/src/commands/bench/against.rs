//! What has changed since another bench: its document comes in, ratios go out.

use std::path::Path;

use pinion::error::{Error, Result};
use serde_json::Value;

use super::tables::{aligned, below, conditions};

/// Reads the document of another bench.
///
/// # Errors
/// When it cannot be read, or is another document.
pub fn read(path: &Path) -> Result<Value> {
    let wrong = |why: String| Error::Usage(format!("--against {}: {why}", path.display()));
    let text = pinion_input::text(path).map_err(|error| wrong(error.to_string()))?;
    let document: Value = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    match document["document"]["kind"].as_str() {
        Some("bench") => Ok(document),
        _ => Err(wrong("it is not what `pinion bench --json` writes".to_owned())),
    }
}

/// Sets rates beside those of the other document: above 1 is faster now.
pub fn table(before: &Value, now: &Value, markdown: bool) -> String {
    let (mut cells, mut ratios) = (Vec::new(), Vec::new());
    for row in list(&now["rows"]) {
        let same = |other: &&Value| ["app", "machine"].iter().all(|key| other[key] == row[key]);
        let Some(other) = list(&before["rows"]).find(same) else { continue };
        let handled = ratio(other, row, "packets_per_second");
        ratios.extend(handled);
        let host = |row: &Value| {
            Some(
                row["host_instructions"].as_f64()?
                    / row["packets"].as_f64().filter(|&n| n > 0.0)?,
            )
        };
        let fewer = host(other).zip(host(row)).map(|(before, now)| before / now);
        cells.push(vec![
            text(&row["app"]),
            text(&row["machine"]),
            shown(ratio(other, row, "mips")),
            shown(handled),
            shown(ratio(other, row, "cycles_per_second")),
            shown(fewer),
        ]);
    }
    for row in list(&now["loops"]["rows"]) {
        let same = |other: &&Value| ["loop", "simulator"].iter().all(|key| other[key] == row[key]);
        let Some(other) = list(&before["loops"]["rows"]).find(same) else { continue };
        let mips = shown(ratio(other, row, "mips"));
        let none = String::new;
        cells.push(vec![text(&row["loop"]), text(&row["simulator"]), mips, none(), none(), none()]);
    }
    let head = [
        "application or loop",
        "machine or simulator",
        "MIPS",
        "handled/s",
        "cycles/s",
        "host instructions per handled",
    ];
    let mut said = format!(
        "\nAgainst {}: above 1 is better now.\n\n{}",
        conditions(before),
        aligned(&head, cells, markdown)
    );
    if !ratios.is_empty() {
        let mean = ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64;
        let count = ratios.len();
        let line = format!("geometric mean of handled/s over {count} rows: {:.2}", mean.exp());
        said.push_str(&below(&line, markdown));
    }
    if before["computer"]["processor"] != now["computer"]["processor"] {
        said.push_str(&below("another processor: the ratios are of both together", markdown));
    }
    said
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Divides what a key has now by what it had before.
fn ratio(before: &Value, now: &Value, key: &str) -> Option<f64> {
    let (before, now) = (before[key].as_f64()?, now[key].as_f64()?);
    (before > 0.0 && now > 0.0).then(|| now / before)
}

fn shown(ratio: Option<f64>) -> String {
    ratio.map_or_else(String::new, |ratio| format!("{ratio:.2}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn twice_the_rate_is_two_and_a_new_row_is_not_compared() {
        let row = |app: &str, rate: f64, host: u64| {
            json!({ "app": app, "machine": "pspin", "mips": rate, "packets": 10,
                "packets_per_second": rate, "cycles_per_second": rate, "host_instructions": host })
        };
        let before = json!({ "rows": [row("a", 10.0, 400)] });
        let now = json!({ "rows": [row("a", 20.0, 100), row("new", 1.0, 1)] });
        let said = table(&before, &now, true);
        assert!(said.contains("| a | pspin | 2.00 | 2.00 | 2.00 | 4.00 |"), "{said}");
        assert!(said.contains("over 1 rows: 2.00"), "{said}");
        assert!(!said.contains("new"), "{said}");
    }

    #[test]
    fn nothing_is_divided_by_nothing() {
        let (zero, some) = (json!({ "mips": 0.0 }), json!({ "mips": 1.0 }));
        assert_eq!(ratio(&zero, &some, "mips"), None);
        assert_eq!(ratio(&json!({}), &some, "mips"), None);
    }
}
