//! JSON documents are what `docs/src/schema/documents.schema.json` says.

#[allow(dead_code)]
mod outside;

use std::path::Path;

use outside::{Folder, example, has_gcc};
use serde_json::Value;

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the repository")
}

/// Reads the schema, for documents of one kind: so what is wrong is told of that kind alone.
fn schema(kind: &str) -> Value {
    let path = repository().join("docs/src/schema/documents.schema.json");
    let mut schema: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    schema.as_object_mut().unwrap().remove("oneOf");
    schema["$ref"] = format!("#/$defs/{kind}").into();
    schema
}

/// Tells what is wrong with a document.
fn wrong(document: &Value, kind: &str) -> Vec<String> {
    let schema = schema(kind);
    let mut wrong = Vec::new();
    hold(document, &schema, &schema["$defs"], kind, &mut wrong);
    wrong
}

/// Holds a value against a schema. Knows the keywords that our schema uses, and no others: the crates
/// that know all bring thirty more with them.
fn hold(value: &Value, schema: &Value, defs: &Value, at: &str, wrong: &mut Vec<String>) {
    for (keyword, wanted) in schema.as_object().expect("a schema is an object") {
        let fits = match keyword.as_str() {
            "description" | "title" | "$schema" | "$defs" => true,
            "$ref" => {
                let name = wanted.as_str().and_then(|name| name.strip_prefix("#/$defs/"));
                hold(value, &defs[name.expect("a reference into $defs")], defs, at, wrong);
                true
            }
            "type" => types(wanted).any(|name| is(value, name)),
            "const" => value == wanted,
            "enum" => wanted.as_array().unwrap().contains(value),
            "minimum" => value.as_f64().is_none_or(|number| Some(number) >= wanted.as_f64()),
            "required" => {
                let keys = wanted.as_array().unwrap().iter().filter_map(Value::as_str);
                let lost = keys.filter(|key| value.is_object() && value.get(key).is_none());
                wrong.extend(lost.map(|key| format!("{at}: no `{key}`")));
                true
            }
            "properties" | "additionalProperties" => {
                hold_properties(value, schema, defs, at, keyword, wrong);
                true
            }
            "items" => {
                for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                    hold(item, wanted, defs, &format!("{at}[{index}]"), wrong);
                }
                true
            }
            "oneOf" => {
                let matches = wanted.as_array().unwrap().iter().filter(|one| {
                    let mut wrong = Vec::new();
                    hold(value, one, defs, at, &mut wrong);
                    wrong.is_empty()
                });
                matches.count() == 1
            }
            other => panic!("the test does not know the keyword `{other}`"),
        };
        if !fits {
            wrong.push(format!("{at}: {value} is not of {keyword} {wanted}"));
        }
    }
}

/// Holds an object's members against `properties`, or those that it does not name against
/// `additionalProperties`.
fn hold_properties(
    value: &Value,
    schema: &Value,
    defs: &Value,
    at: &str,
    keyword: &str,
    wrong: &mut Vec<String>,
) {
    for (key, member) in value.as_object().into_iter().flatten() {
        let at = format!("{at}.{key}");
        let known = schema.get("properties").and_then(|properties| properties.get(key));
        match (known, &schema["additionalProperties"]) {
            (Some(known), _) if keyword == "properties" => hold(member, known, defs, &at, wrong),
            (None, Value::Bool(false)) if keyword != "properties" => {
                wrong.push(format!("{at}: nobody described it"));
            }
            (None, more @ Value::Object(_)) if keyword != "properties" => {
                hold(member, more, defs, &at, wrong);
            }
            _ => {}
        }
    }
}

fn types(wanted: &Value) -> impl Iterator<Item = &str> {
    let one = wanted.as_str().into_iter();
    one.chain(wanted.as_array().into_iter().flatten().filter_map(Value::as_str))
}

fn is(value: &Value, name: &str) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        other => panic!("there is no type `{other}`"),
    }
}

/// Checks that a document says which it is, and is as described.
fn hold_document(document: &Value, kind: &str) {
    assert_eq!(document["document"]["kind"], kind);
    let wrong = wrong(document, kind);
    assert!(wrong.is_empty(), "{kind}: {wrong:#?}");
}

/// Does something, which may fail, and checks the document that it writes.
fn written(kind: &str, arguments: &[&str]) -> Value {
    let folder = Folder::new(&format!("document-{kind}-{}", arguments.concat().replace('/', "-")));
    let output = folder.pinion(&[arguments, &["--json", "out.json"]].concat());
    let text = std::fs::read_to_string(folder.0.join("out.json"))
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    let document = serde_json::from_str(&text).unwrap();
    hold_document(&document, kind);
    document
}

/// Runs something of the repository, and checks the document that it writes.
fn check(kind: &str, what: &str, options: &[&str]) -> Value {
    let what = repository().join(what);
    written(kind, &[&["run", what.to_str().unwrap(), "--quiet"], options].concat())
}

#[test]
fn packet_handlers() {
    if !has_gcc() {
        return;
    }
    let packets = example("ping_pong") + "/traffic.pcap";
    let packets = ["--pcap-in", &packets, "--handlers"];
    let document = check("packet_handlers", "examples/ping_pong", &packets);
    assert!(!document["handlers"].as_array().unwrap().is_empty());
    let faulty = ["--generate", "udp,size=128,dport=9600,count=8"];
    let document = check("packet_handlers", "tests/faults/handlers", &faulty);
    assert!(!document["faults"].as_array().unwrap().is_empty());
    let folder = Folder::new("document-of-a-check");
    let source = "#include <handler.h>\n__handler__ void count_ph(handler_args_t *args)\n{\n    \
                  *(volatile uint32_t *)args->task->handler_mem += 1;\n}\n";
    folder.write("count/count.c", source);
    let manifest = "[app]\nname = \"count\"\nsources = [\"count.c\"]\n[[context]]\n\
                    name = \"all\"\nmatch = [\"udp\"]\npayload = \"count_ph\"\n\
                    handler_memory = \"4KiB\"\n";
    folder.write("count/app.toml", manifest);
    let packets = ["--generate", "udp,size=128,count=64", "--check"];
    let document = check("packet_handlers", folder.0.join("count").to_str().unwrap(), &packets);
    assert_eq!(document["check"]["findings"][0]["kind"], "lost_update");
}

#[test]
fn nanoservices() {
    if !has_gcc() {
        return;
    }
    check("nanoservice", "examples/nanopu_echo", &[]);
    let document = check("nanoservice", "examples/nanopu_echo", &["--load", "requests=50"]);
    assert_eq!(document["load"]["answered"], 50);
    let store = ["--load", "requests=50,gap=exp:2000,startup=1,store=64:64"];
    let document = check("nanoservice", "examples/nanopu_cache", &store);
    assert_eq!(document["pipeline"]["tables"][0]["size"], 64);
    let document = check("nanoservice", "tests/faults/service", &[]);
    assert!(!document["faults"].as_array().unwrap().is_empty());
}

#[test]
fn clusters() {
    if !has_gcc() {
        return;
    }
    for (what, options) in [
        ("examples/cluster_echo", ["--link", "loss=2%,seed=3"].as_slice()),
        ("examples/cluster_filter", &[]),
    ] {
        let document = check("cluster", what, options);
        assert!(!document["nodes"].as_array().unwrap().is_empty());
    }
}

#[test]
fn curves() {
    if !has_gcc() {
        return;
    }
    let folder = Folder::new("document-of-a-curve");
    let app = repository().join("examples/nanopu_echo");
    let cluster = format!(
        "[cluster]\nname = \"curve\"\n[[node]]\nname = \"server\"\napp = {app:?}\n\
         [[load]]\nname = \"load\"\nto = \"server\"\nspec = \"requests=20,gap=900\"\n\
         gaps = [3000, 900]\n"
    );
    let file = folder.write("cluster.toml", cluster);
    let arguments = ["run", file.to_str().unwrap(), "--quiet", "--curve", "curve.csv"];
    let document = written("curve", &arguments);
    assert_eq!(document["points"][1]["gap_cycles"], 900.0);
    assert_eq!(document["points"][1]["load"]["answered"], 20);
}

#[test]
fn calibrations() {
    let set = repository().join("tests/calibration/pspin");
    let document = written(
        "calibration",
        &["calibrate", "--set", set.to_str().unwrap(), "--row", "empty-single_64"],
    );
    assert!(!document["comparisons"].as_array().unwrap().is_empty());
}

#[test]
fn figures() {
    let arguments = ["figure", "pspin-table3", "--quick", "--quiet", "--jobs", "1"];
    let document = written("figure", &arguments);
    assert!(!document["rows"].as_array().unwrap().is_empty());
    assert!(!document["published"].as_array().unwrap().is_empty());
    let two = pinion::figure::together(&[document.clone(), document]);
    hold_document(&two, "figures");
}

#[test]
fn speed() {
    if !has_gcc() {
        return;
    }
    let app = repository().join("examples/ping_pong");
    let service = repository().join("examples/nanopu_echo");
    let apps = ["bench", app.to_str().unwrap(), service.to_str().unwrap()];
    let document = written("bench", &[&apps[..], &["--seconds", "0.01"]].concat());
    let rows = document["rows"].as_array().unwrap();
    assert!(rows.iter().any(|row| row["kind"] == "nanoservice"));
    assert!(rows.iter().filter(|row| row["app"] == "ping_pong").count() > 1, "several machines");
    assert!(rows.iter().all(|row| row["mips"].as_f64() > Some(0.0) && row["packets"] != 0));
    // 16 HPUs at 40 MHz cannot take what comes as fast as the link brings it.
    let slow = |row: &serde_json::Value| {
        let is_paced = row["rate_gbit_s"].as_f64().is_some_and(|rate| rate < 20.0);
        row["app"] == "ping_pong" && row["machine"] == "fpspin" && is_paced
    };
    assert!(rows.iter().any(slow), "{rows:?}");
    assert!(rows.iter().all(|row| row.get("lost").is_none()), "{rows:?}");
    let energy = repository().join("examples/energy");
    let apps = ["bench", energy.to_str().unwrap(), "--machine", "pspin", "--seconds", "0.01"];
    assert_eq!(written("bench", &apps)["left_out"].as_array().map(Vec::len), Some(0));
}

#[test]
fn stages_of_p4_programs() {
    for part in ["ingress", "egress"] {
        let document = written("p4_pipeline", &["p4", "explain", &format!("sdk/p4/ndp/{part}.p4")]);
        let externs = document["externs"].as_array().unwrap();
        assert_eq!(externs.len(), if part == "ingress" { 5 } else { 0 });
    }
    let document = written("p4_pipeline", &["p4", "explain", "sdk/p4/telemetry/ingress.p4"]);
    let lengths = ["tables", "events"].map(|name| document[name].as_array().unwrap().len());
    assert_eq!(lengths, [1, 4]);
}

#[test]
fn why() {
    if !has_gcc() {
        return;
    }
    let app = example("udp_echo");
    let asked = |more: &[&'static str]| written("why", &[&["why", app.as_str()], more].concat());
    assert_eq!(asked(&["--p99"])["packet"]["until"], "departure");
    let full = ["--dropped", "--set", "inbound.when_full=\"drop\"", "--set", "mpq.count=64"];
    assert_eq!(asked(&full)["dropped"]["reason"], "no_queue");
    let service = example("nanopu_echo");
    let of_messages =
        |more: &[&'static str]| written("why", &[&["why", service.as_str()], more].concat());
    let slowest = of_messages(&["--load", "requests=20,size=1100"]);
    assert_eq!(slowest["message"]["frames"], 2);
    let stray = of_messages(&["--load", "requests=2,contexts=1", "--dropped"]);
    assert_eq!(stray["frame"]["reason"], "context_unbound");
    let cluster = example("cluster_filter");
    let of_requests =
        |more: &[&'static str]| written("why", &[&["why", cluster.as_str()], more].concat());
    assert_eq!(of_requests(&["--p99"])["request"]["is_answered"], true);
    let lost = of_requests(&["--dropped", "--link", "loss=3%,seed=2"]);
    assert_eq!(lost["lost"]["reason"], "lost");
}

#[test]
fn differences() {
    if !has_gcc() {
        return;
    }
    let folder = Folder::new("documents-diff");
    let (handlers, service) = (example("udp_echo"), example("nanopu_service"));
    let diff = |arguments: &[&str], status: i32| {
        let output = folder.pinion(&[&["diff"], arguments, &["--json", "diff.json"]].concat());
        assert_eq!(output.status.code(), Some(status), "{arguments:?}: {output:?}");
        let text = std::fs::read_to_string(folder.0.join("diff.json")).unwrap();
        let document = serde_json::from_str(&text).unwrap();
        hold_document(&document, "diff");
        document
    };
    let few = [handlers.as_str(), "--generate", "udp,dport=9500,count=100"];
    let same: Value = diff(&few, 0);
    assert_eq!(same["events"]["parting"], Value::Null);
    let other = diff(&[&few[..], &["--other-set", "cluster.count=1"]].concat(), 1);
    assert!(other["packets"]["furthest"]["packet"].is_u64());
    assert_ne!(other["states"].as_array().map(Vec::len), Some(0));
    let load = ["--load", "requests=20", "--other-set", "core.count=8"];
    diff(&[&[service.as_str()], &load[..]].concat(), 1);
}

#[test]
fn profiles() {
    if !has_gcc() {
        return;
    }
    let (handlers, service) = (example("udp_echo"), example("nanopu_echo"));
    let few = ["profile", handlers.as_str(), "--generate", "udp,dport=9500,size=128,count=40"];
    assert!(written("profile", &few)["packets"][0]["packets"].is_u64());
    let load = ["profile", service.as_str(), "--load", "requests=20"];
    assert_eq!(written("profile", &load)["packets"].as_array().map(Vec::len), Some(0));
}

#[test]
fn tests_of_an_application() {
    if !has_gcc() {
        return;
    }
    let app = example("udp_echo");
    assert_eq!(written("test", &["test", app.as_str()])["tests"][0]["passed"], true);
}

#[test]
fn lines_of_a_nic() {
    let line = pinion::nic::log_line_json(1500, (1, 7), "a line", 3);
    hold_document(&line, "nic_log_line");
    assert_eq!(line["simulated_ns"], 1.5);
}

/// A key that nobody described, a lost one and a wrong type are noticed.
#[test]
fn the_schema_notices_what_is_new() {
    if !has_gcc() {
        return;
    }
    let good = check("nanoservice", "examples/nanopu_echo", &[]);
    let change = |change: fn(&mut Value)| {
        let mut document = good.clone();
        change(&mut document);
        wrong(&document, "nanoservice").len()
    };
    assert_eq!(change(|_| ()), 0);
    assert_eq!(change(|document| document["colour"] = "red".into()), 1);
    assert_eq!(change(|document| document["document"]["version"] = 99.into()), 1);
    assert_eq!(change(|document| document["cycles"] = "many".into()), 1);
    assert_eq!(change(|document| drop(document.as_object_mut().unwrap().remove("harts"))), 1);
}
