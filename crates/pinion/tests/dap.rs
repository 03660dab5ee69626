//! `pinion dap` as an editor uses it: from the launch to the end, forward and back to the exact line; and
//! what it says where it cannot.

#[path = "dap/client.rs"]
mod client;
#[allow(dead_code)]
mod outside;

use std::fs;
use std::path::Path;

use client::Editor;
use outside::Folder;
use serde_json::{Value, json};

/// Copies the application that is debugged; whether it can be compiled.
fn has_application(folder: &Folder) -> bool {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/debug/sum");
    for file in ["app.toml", "sum.c"] {
        folder.write(&format!("sum/{file}"), fs::read(from.join(file)).unwrap());
    }
    outside::has_gcc()
}

/// An editor with the application launched, and the lines of its source.
struct Session {
    editor: Editor,
    source: String,
    path: String,
}

impl Session {
    fn launch(folder: &Folder, configuration: Value) -> Self {
        let mut editor = Editor::start(&folder.0);
        let can = editor.ask("initialize", json!({ "adapterID": "pinion" }));
        assert!(can["supportsStepBack"] == true && can["supportsDataBreakpoints"] == true, "{can}");
        editor.ask("launch", configuration);
        editor.event("initialized");
        let path = folder.0.join("sum/sum.c");
        let source = fs::read_to_string(&path).unwrap();
        Self { editor, source, path: path.display().to_string() }
    }

    /// Finds the line that says of itself what it is.
    fn line(&self, words: &str) -> u64 {
        let mark = format!("/* here: {words} */");
        1 + self.source.lines().position(|line| line.contains(&mark)).unwrap() as u64
    }

    fn break_at(&mut self, lines: &[u64]) -> Value {
        let breakpoints: Vec<Value> = lines.iter().map(|line| json!({ "line": line })).collect();
        let source = json!({ "path": self.path });
        let set = json!({ "source": source, "breakpoints": breakpoints });
        self.editor.ask("setBreakpoints", set)["breakpoints"].take()
    }

    /// Waits for a stop; gives the reason and the thread.
    fn stop(&mut self) -> (String, u64) {
        let stop = self.editor.event("stopped");
        (stop["reason"].as_str().unwrap().to_owned(), stop["threadId"].as_u64().unwrap())
    }

    /// Lets a thread go somewhere, and gives why it stops.
    fn go(&mut self, command: &str, thread: u64) -> String {
        self.editor.ask(command, json!({ "threadId": thread }));
        let (reason, stopped) = self.stop();
        assert_eq!(stopped, thread, "{command}");
        reason
    }

    fn frames(&mut self, thread: u64) -> Vec<Value> {
        let mut trace = self.editor.ask("stackTrace", json!({ "threadId": thread }));
        serde_json::from_value(trace["stackFrames"].take()).unwrap()
    }

    /// Gives function and line where a thread is.
    fn at(&mut self, thread: u64) -> (String, u64) {
        let top = &self.frames(thread)[0];
        (top["name"].as_str().unwrap().to_owned(), top["line"].as_u64().unwrap())
    }

    fn evaluate(&mut self, frame: &Value, text: &str) -> String {
        let answer = self.editor.ask("evaluate", json!({ "expression": text, "frameId": frame }));
        answer["result"].as_str().unwrap().to_owned()
    }

    /// Lists what a scope of a call has, by name.
    fn variables(&mut self, frame: &Value, scope: &str) -> Vec<Value> {
        let scopes = self.editor.ask("scopes", json!({ "frameId": frame }));
        let scopes = scopes["scopes"].as_array().unwrap().clone();
        let found = scopes.iter().find(|known| known["name"] == scope).unwrap();
        self.open(&found["variablesReference"])
    }

    fn open(&mut self, reference: &Value) -> Vec<Value> {
        let mut told = self.editor.ask("variables", json!({ "variablesReference": reference }));
        serde_json::from_value(told["variables"].take()).unwrap()
    }
}

fn named<'v>(variables: &'v [Value], name: &str) -> &'v Value {
    variables.iter().find(|variable| variable["name"] == name).unwrap_or_else(|| {
        panic!("no {name} in {variables:?}");
    })
}

fn configuration() -> Value {
    json!({ "app": "sum", "args": ["--build-dir", "built", "--build-type", "debug"] })
}

#[test]
fn an_editor_stops_looks_steps_and_turns_back() {
    let folder = Folder::new("dap-session");
    if !has_application(&folder) {
        return;
    }
    let mut session = Session::launch(&folder, configuration());
    let (call, behind) = (session.line("the call"), session.line("behind the call"));
    let set = session.break_at(&[call, 9999]);
    assert_eq!((&set[0]["verified"], &set[0]["line"]), (&json!(true), &json!(call)), "{set}");
    assert!(set[1]["message"].as_str().unwrap().contains("no code of line 9999"), "{set}");
    session.editor.ask("setExceptionBreakpoints", json!({ "filters": ["fault"] }));
    let early = session.editor.refused("stackTrace", json!({ "threadId": 1 }));
    assert!(early.contains("configurationDone"), "{early}");
    session.editor.ask("configurationDone", json!({}));
    let (reason, thread) = session.stop();
    assert_eq!(reason, "breakpoint");
    let threads = session.editor.ask("threads", json!({}));
    let threads = threads["threads"].as_array().unwrap();
    assert_eq!(threads.len(), 32);
    let name = threads[thread as usize - 1]["name"].as_str().unwrap();
    assert!(name.starts_with("cluster ") && name.ends_with(" of context sums"), "{name}");

    // What is there.
    let frames = session.frames(thread);
    assert_eq!((&frames[0]["name"], &frames[0]["line"]), (&json!("sum_ph"), &json!(call)));
    assert_eq!(frames.len(), 1, "what calls handlers is none: {frames:?}");
    let frame = &frames[0]["id"];
    let locals = session.variables(frame, "Locals");
    assert_eq!(named(&locals, "bytes")["value"], "128");
    let visit = named(&locals, "visit");
    assert_eq!(visit["type"], "visit_t");
    let parts = session.open(&visit["variablesReference"]);
    let number = named(&parts, "number")["value"].as_str().unwrap().to_owned();
    assert_eq!(named(&parts, "age")["value"], "EARLY");
    assert_eq!(named(&parts, "number")["evaluateName"], "visit.number");
    let first = session.open(&named(&parts, "first")["variablesReference"]);
    assert_eq!(first.len(), 4);
    let totals = session.open(&named(&parts, "totals")["variablesReference"]);
    assert!(named(&totals, "packets")["value"].as_str().unwrap().parse::<u32>().unwrap() > 0);
    assert_eq!(session.evaluate(frame, "visit.number"), number);
    assert_eq!(session.evaluate(frame, "args->task->pkt_mem_size"), "128");
    assert_eq!(session.evaluate(frame, "longest"), "7");
    assert_eq!(session.evaluate(frame, "visit.first[1]"), first[1]["value"]);
    let stack_pointer = session.evaluate(frame, "$sp");
    let registers = session.variables(frame, "Registers");
    let shown = named(&registers, "sp")["value"].as_str().unwrap();
    assert!(shown.ends_with(stack_pointer.trim_start_matches("0x")), "{shown} {stack_pointer}");
    let packets = session.evaluate(frame, "monitor packets");
    assert!(packets.contains("of context sums"), "{packets}");
    let wrong = session.editor.refused("evaluate", json!({ "expression": "nowhere + 1" }));
    assert!(wrong.contains("there is no `nowhere`"), "{wrong}");

    // A line on, and back; into the call, on in it, and out.
    assert_eq!(session.go("next", thread), "step");
    assert_eq!(session.at(thread), ("sum_ph".to_owned(), behind));
    assert_eq!(session.go("stepBack", thread), "breakpoint", "it is there still");
    assert_eq!(session.at(thread), ("sum_ph".to_owned(), call));
    assert_eq!(session.go("stepIn", thread), "step");
    assert_eq!(session.at(thread), ("add".to_owned(), session.line("the reader")));
    let frames = session.frames(thread);
    assert_eq!((frames.len(), &frames[1]["name"]), (2, &json!("sum_ph")));
    let outer = session.variables(&frames[1]["id"], "Locals");
    assert_eq!(named(&outer, "visit")["type"], "visit_t");
    assert_eq!(session.evaluate(&frames[1]["id"], "visit.number"), number);
    assert_eq!(session.go("stepOut", thread), "step");
    assert_eq!(session.at(thread).0, "sum_ph");
    assert_eq!(session.go("next", thread), "step");
    assert_eq!(session.at(thread), ("sum_ph".to_owned(), behind));

    // Back to who wrote the sum, and further to where the run begins.
    session.break_at(&[]);
    let frame = session.frames(thread)[0]["id"].clone();
    let asked = json!({ "name": "visit.totals->bytes", "frameId": frame });
    let place = session.editor.ask("dataBreakpointInfo", asked);
    let id = place["dataId"].as_str().unwrap();
    let watch = json!({ "breakpoints": [{ "dataId": id, "accessType": "write" }] });
    session.editor.ask("setDataBreakpoints", watch);
    session.editor.ask("reverseContinue", json!({ "threadId": thread }));
    let (reason, writer) = session.stop();
    assert_eq!(reason, "data breakpoint");
    assert_eq!(session.at(writer), ("add".to_owned(), session.line("the writer")));
    session.editor.ask("setDataBreakpoints", json!({ "breakpoints": [] }));
    session.editor.ask("reverseContinue", json!({ "threadId": thread }));
    assert_eq!(session.stop().0, "entry");

    // On to the fault, and what lies there.
    session.editor.ask("continue", json!({ "threadId": thread }));
    let (reason, thread) = session.stop();
    assert_eq!(reason, "exception");
    assert_eq!(session.at(thread), ("go_wrong".to_owned(), session.line("the fault")));
    let what = session.editor.ask("exceptionInfo", json!({ "threadId": thread }));
    assert!(what["description"].as_str().unwrap().contains("0x1c2ffff0"), "{what}");
    let frame = session.frames(thread)[0].clone();
    assert_eq!(session.evaluate(&frame["id"], "visit->number"), "30");
    let at = frame["instructionPointerReference"].clone();
    let memory = session
        .editor
        .ask("readMemory", json!({ "memoryReference": at, "offset": -4, "count": 8 }));
    assert_eq!(memory["data"].as_str().unwrap().len(), 12, "{memory}");
    let asked = json!({
        "memoryReference": at, "instructionOffset": -3, "instructionCount": 5,
    });
    let code = session.editor.ask("disassemble", asked);
    let code = code["instructions"].as_array().unwrap();
    assert_eq!((code.len(), &code[3]["address"]), (5, &at));
    assert!(code[3]["instruction"].as_str().unwrap().starts_with("sw "), "{code:?}");

    // To the end, and no further.
    session.editor.ask("setExceptionBreakpoints", json!({ "filters": [] }));
    session.editor.ask("continue", json!({ "threadId": thread }));
    let stop = session.editor.event("stopped");
    assert_eq!(stop["description"], "The run ends here", "{stop}");
    session.editor.ask("disconnect", json!({}));
    let (status, problem) = session.editor.end();
    assert_eq!((status, problem.as_str()), (Some(0), ""));
}

#[test]
fn steps_lead_from_handler_to_handler_and_through_functions() {
    let folder = Folder::new("dap-steps");
    if !has_application(&folder) {
        return;
    }
    let mut asked = configuration();
    asked["stopOnEntry"] = json!(true);
    let mut session = Session::launch(&folder, asked);
    session.editor.ask("configurationDone", json!({}));
    assert_eq!(session.stop().0, "entry");
    let set = json!({ "breakpoints": [{ "name": "add" }, { "name": "nobody" }] });
    let set = session.editor.ask("setFunctionBreakpoints", set);
    let set = &set["breakpoints"];
    assert_eq!((&set[0]["verified"], &set[1]["verified"]), (&json!(true), &json!(false)), "{set}");
    session.editor.ask("continue", json!({ "threadId": 1 }));
    let (reason, thread) = session.stop();
    assert_eq!(reason, "breakpoint");
    let there = session.at(thread);
    assert_eq!(there.0, "add");
    session.editor.ask("setFunctionBreakpoints", json!({ "breakpoints": [] }));
    // Out through the beginning of the function, backwards: to the line of the call.
    assert_eq!(session.go("stepBack", thread), "step");
    assert_eq!(session.at(thread), ("add".to_owned(), there.1 - 1), "where it begins");
    assert_eq!(session.go("stepBack", thread), "step");
    assert_eq!(session.at(thread), ("sum_ph".to_owned(), session.line("the call")));
    // Steps lead to the handler's end, and on to this HPU's next one.
    let task = session.evaluate(&Value::Null, "monitor cycle");
    let packet = task.split("packet ").nth(1).unwrap().to_owned();
    for _ in 0..20 {
        session.go("next", thread);
        if session.evaluate(&Value::Null, "monitor cycle").split("packet ").nth(1) != Some(&packet)
        {
            break;
        }
    }
    assert_eq!(session.at(thread).0, "sum_ph", "another packet's");
    // An instruction on and back is where it was.
    let before = session.frames(thread)[0]["instructionPointerReference"].clone();
    let by = json!({ "threadId": thread, "granularity": "instruction" });
    session.editor.ask("stepIn", by.clone());
    session.stop();
    assert_ne!(session.frames(thread)[0]["instructionPointerReference"], before);
    session.editor.ask("stepBack", by);
    session.stop();
    assert_eq!(session.frames(thread)[0]["instructionPointerReference"], before);
    session.editor.ask("disconnect", json!({}));
    assert_eq!(session.editor.end().0, Some(0));
}

#[test]
fn breakpoints_stop_where_their_conditions_hold() {
    let folder = Folder::new("dap-conditions");
    if !has_application(&folder) {
        return;
    }
    let mut session = Session::launch(&folder, configuration());
    let (call, behind) = (session.line("the call"), session.line("behind the call"));
    let source = json!({ "path": session.path });
    let set = |session: &mut Session, breakpoints: Value| {
        let asked = json!({ "source": source, "breakpoints": breakpoints });
        session.editor.ask("setBreakpoints", asked)["breakpoints"].take()
    };
    let told = set(
        &mut session,
        json!([
            { "line": call, "condition": "visit.number == 12 && bytes * 2 >= 0x100" },
            { "line": behind, "logMessage": "packet {visit.number} has {bytes - 28} B" },
            { "line": behind, "hitCondition": "often" },
            { "line": behind, "logMessage": "no {end" },
        ]),
    );
    assert_eq!((&told[0]["verified"], &told[1]["verified"]), (&json!(true), &json!(true)));
    assert!(told[2]["message"].as_str().unwrap().contains("counts no hits"), "{told}");
    assert!(told[3]["message"].as_str().unwrap().contains("is missing"), "{told}");
    session.editor.ask("configurationDone", json!({}));
    let (reason, thread) = session.stop();
    let frame = session.frames(thread)[0]["id"].clone();
    assert_eq!(
        (reason.as_str(), session.evaluate(&frame, "visit.number").as_str()),
        ("breakpoint", "12")
    );
    assert_eq!(session.evaluate(&frame, "-visit.number + 3 * (1 << 2) == !1"), "1");
    let logged = session.editor.said(" has 100 B\n");
    assert!(logged.starts_with("packet "), "{logged}");

    // A step leads over a breakpoint that does not stop; the way back stops at another number.
    set(&mut session, json!([{ "line": behind, "condition": "visit.number == 999" }]));
    assert_eq!(session.go("next", thread), "step");
    assert_eq!(session.at(thread).1, behind);
    set(&mut session, json!([{ "line": call, "condition": "visit.number < 4" }]));
    session.editor.ask("reverseContinue", json!({ "threadId": thread }));
    let (_, thread) = session.stop();
    let frame = session.frames(thread)[0]["id"].clone();
    let earlier: u32 = session.evaluate(&frame, "visit.number").parse().unwrap();
    assert!(earlier < 4, "{earlier}");

    // The third hit behind here; what cannot be told stops, with the reason.
    set(&mut session, json!([{ "line": call, "hitCondition": "== 3" }]));
    session.editor.ask("continue", json!({ "threadId": thread }));
    let (_, thread) = session.stop();
    let frame = session.frames(thread)[0]["id"].clone();
    let third: u32 = session.evaluate(&frame, "visit.number").parse().unwrap();
    assert!(third > earlier, "{third} behind {earlier}");
    set(&mut session, json!([{ "line": call, "condition": "nowhere > 1" }]));
    session.editor.ask("continue", json!({ "threadId": thread }));
    session.stop();
    let said = session.editor.said("there is no `nowhere` here");
    assert!(said.starts_with("condition `nowhere > 1`"), "{said}");
    session.editor.ask("disconnect", json!({}));
    assert_eq!(session.editor.end().0, Some(0));
}

#[test]
fn a_run_is_paused_and_a_lost_connection_ends() {
    let folder = Folder::new("dap-pause");
    let app = folder.calibration("words", "reduce").display().to_string();
    let mut editor = Editor::start(&folder.0);
    editor.ask("initialize", json!({}));
    let many = ["--generate", "udp,size=512,count=400000"];
    editor.ask("launch", json!({ "app": app, "args": many }));
    editor.event("initialized");
    editor.ask("configurationDone", json!({}));
    std::thread::sleep(std::time::Duration::from_millis(300));
    let going = editor.refused("stackTrace", json!({ "threadId": 1 }));
    assert!(going.contains("the run goes on"), "{going}");
    editor.ask("pause", json!({ "threadId": 1 }));
    assert_eq!(editor.event("stopped")["reason"], "pause");
    editor.ask("continue", json!({ "threadId": 1 }));
    editor.hang_up();
    let (status, problem) = editor.end();
    assert_eq!(status, Some(2), "{problem}");
    assert!(problem.contains("the connection to the editor was lost in cycle"), "{problem}");
}

#[test]
fn what_cannot_be_is_said() {
    let folder = Folder::new("dap-refused");
    let app = folder.calibration("words", "reduce").display().to_string();
    let mut editor = Editor::start(&folder.0);
    assert!(editor.refused("threads", json!({})).contains("`initialize` comes first"));
    editor.ask("initialize", json!({}));
    let early = editor.refused("setBreakpoints", json!({ "source": { "path": "a.c" } }));
    assert!(early.contains("nothing is launched yet"), "{early}");
    assert!(editor.refused("attach", json!({})).contains("\"request\": \"launch\""));
    let cases = [
        (json!({}), "missing field `app`"),
        (json!({ "app": "nowhere" }), "nowhere"),
        (json!({ "app": app, "args": ["--frobnicate"] }), "--frobnicate"),
        (json!({ "app": app, "args": ["--listen", "127.0.0.1:0"] }), "--listen"),
        (json!({ "app": app, "args": ["--engine", "native"] }), "--engine native"),
        (json!({ "app": app, "args": ["--pcap-in", "nowhere.pcap"] }), "nowhere.pcap"),
        (json!({ "app": app, "cwd": "/nowhere" }), "/nowhere"),
        (json!({ "app": 7 }), "launch configuration"),
    ];
    for (configuration, part) in cases {
        let why = editor.refused("launch", configuration.clone());
        assert!(why.contains(part), "{configuration}: {why}");
    }
    editor.send("Content-Length: 2\r\n\r\n{]");
    let said = editor.event("output")["output"].as_str().unwrap().to_owned();
    assert!(said.contains("no JSON"), "{said}");
    let spec = ["--generate", "udp,size=512,count=60"];
    editor.ask("launch", json!({ "app": app, "args": spec }));
    assert!(editor.refused("launch", json!({ "app": app })).contains("already"));
    assert!(editor.refused("initialize", json!({})).contains("already"));
    editor.ask("configurationDone", json!({}));
    editor.event("stopped");
    let cases = [
        ("stackTrace", json!({ "threadId": 77 }), "there is no thread 77"),
        ("stackTrace", json!({}), "threadId"),
        ("scopes", json!({ "frameId": 9 }), "there is no call 9"),
        ("variables", json!({ "variablesReference": 9 }), "there is no variable 9"),
        ("readMemory", json!({ "memoryReference": "here", "count": 4 }), "`here` is no address"),
        ("evaluate", json!({ "expression": "((" }), "ends too early"),
        ("evaluate", json!({ "expression": "monitor frobnicate" }), "no such command"),
        ("exceptionInfo", json!({ "threadId": 1 }), "nothing went wrong"),
        ("gotoTargets", json!({}), "no request that pinion answers"),
    ];
    for (command, arguments, part) in cases {
        let why = editor.refused(command, arguments);
        assert!(why.contains(part), "{command}: {why}");
    }
    editor.send("GET / HTTP/1.1\r\n\r\n");
    let (status, problem) = editor.end();
    assert_eq!(status, Some(2), "{problem}");
    assert!(problem.contains("is not the Debug Adapter Protocol"), "{problem}");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = listener.local_addr().unwrap().to_string();
    folder.refuses(&["dap", "--listen", &taken], &["the port is in use", &taken]);
}

/// What `pinion new` makes: an option, the source of a program in it, and a line that runs.
const TEMPLATES: [(&[&str], &str, &str); 3] = [
    (&[], "mine.c", "mine_ph("),
    (&["--nanoservice"], "mine.c", "core_main("),
    (&["--cluster"], "server/server.c", "core_main("),
];

#[test]
fn what_new_writes_is_what_an_editor_launches() {
    if !outside::has_gcc() {
        return;
    }
    for (options, source, words) in TEMPLATES {
        let folder = Folder::new("dap-new");
        assert!(folder.pinion(&[&["new", "mine"], options].concat()).status.success());
        launch_what_is_new(&folder, source, words);
    }
}

fn launch_what_is_new(folder: &Folder, program: &str, begin: &str) {
    let text = fs::read_to_string(folder.0.join("mine/.vscode/launch.json")).unwrap();
    let plain: Vec<&str> = text.lines().filter(|line| !line.trim().starts_with("//")).collect();
    let workspace = folder.0.join("mine").display().to_string();
    let plain = plain.join("\n").replace("${workspaceFolder}", &workspace);
    let written: Value = serde_json::from_str(&plain).unwrap();
    let mut configuration = written["configurations"][0].clone();
    let extension = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/vscode");
    let manifest = fs::read_to_string(extension.join("package.json")).unwrap();
    let manifest: Value = serde_json::from_str(&manifest).unwrap();
    let debugger = &manifest["contributes"]["debuggers"][0];
    assert_eq!(debugger["type"], configuration["type"]);
    assert!(extension.join(debugger["program"].as_str().unwrap()).exists());
    let launch = &debugger["configurationAttributes"]["launch"]["properties"];
    let keys = configuration.as_object().unwrap().keys();
    for key in keys.filter(|key| !["name", "type", "request"].contains(&key.as_str())) {
        assert!(launch[key].is_object(), "the extension knows no {key}");
    }
    let words = configuration["args"].as_array_mut().unwrap();
    words.extend(["--build-dir".into(), folder.0.join("built").display().to_string().into()]);
    let mut editor = Editor::start(&folder.0);
    editor.ask("initialize", json!({}));
    editor.ask("launch", configuration);
    editor.event("initialized");
    let source = fs::read_to_string(folder.0.join("mine").join(program)).unwrap();
    let line = 1 + source.lines().position(|line| line.contains(begin)).unwrap();
    let path = json!({ "path": format!("{workspace}/{program}") });
    let set = json!({ "source": path, "breakpoints": [{ "line": line }] });
    assert_eq!(editor.ask("setBreakpoints", set)["breakpoints"][0]["verified"], true);
    editor.ask("configurationDone", json!({}));
    let stop = editor.event("stopped");
    assert_eq!(stop["reason"], "breakpoint");
    let top = editor.ask("stackTrace", json!({ "threadId": stop["threadId"], "levels": 1 }));
    assert_eq!(top["stackFrames"][0]["name"], begin.trim_end_matches('('));
    editor.ask("disconnect", json!({}));
    assert_eq!(editor.end().0, Some(0));
}
