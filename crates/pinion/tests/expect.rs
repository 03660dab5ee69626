//! Tests of applications: what is right passes, and everything that is wrong is found and named.

#[allow(dead_code)]
mod outside;

use outside::{Folder, example, has_gcc};

/// Runs tests of the application that `pinion new` makes; gives the exit status and what was printed.
fn test(folder: &Folder, expect: &str, more: &[&str]) -> (Option<i32>, String) {
    if !folder.0.join("made").exists() {
        let made = folder.pinion(&["new", "made"]);
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    }
    folder.write("made/expect.toml", expect);
    let output = folder.pinion(&[&["test", "made"], more].concat());
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&text).into_owned())
}

const HELLO: &str = "[[run]]\nname = 'hello'\n\
    in = [{ udp = '10.0.0.1:4000 > 10.0.0.2:9', text = 'hello' }]\n";

#[test]
fn what_came_otherwise_is_named() {
    if !has_gcc() {
        return;
    }
    let folder = Folder::new("expect");
    let right = [
        "out = [{ udp = '10.0.0.2:9 > 10.0.0.1:4000', text = 'hello' }]",
        "out = [{ udp = '10.0.0.2:9 > 10.0.0.1:4000' }]\nin_order = true",
        "unmatched = []\nlatency_at_most = '1ms'",
        "packets = { out = 1, in = { at_least = 1, at_most = 1 } }",
        "summary = { engine = 'simulator', 'packets.dropped.no_queue' = 0 }",
        "printed = { hello = 0 }\nhost_memory = [{ context = 'made', words = [0, 0] }]",
    ];
    for keys in right {
        let (status, text) = test(&folder, &format!("{HELLO}{keys}\n"), &[]);
        assert_eq!(status, Some(0), "{keys}: {text}");
        assert!(text.contains("ok    hello") && text.contains("made.c: "), "{keys}: {text}");
    }
    let wrong = [
        (
            "out = [{ udp = '10.0.0.2:9 > 10.0.0.1:4000', text = 'hellO' }]\nin_order = true",
            "byte 4",
        ),
        ("out = [{ udp = '10.0.0.2:9 > 10.0.0.1:4001' }]\nin_order = true", "expected UDP"),
        ("out = [{ echo_reply = '10.0.0.2 > 10.0.0.1' }]", "expected echo reply"),
        (
            "out = [{ udp = '10.0.0.2:9 > 10.0.0.1:4000' }, { echo_reply = '10.0.0.2 > 10.0.0.1' }]",
            "packet 2 out did not come",
        ),
        ("out = []", "not expected: UDP 10.0.0.2:9 > 10.0.0.1:4000 with 68 65 6c 6c 6f"),
        ("latency_at_most = '1ns'", "pinion why"),
        ("packets = { out = 2 }", "packets.out is 1, 2 expected"),
        ("summary = { cycles = { at_most = 1 } }", "at most 1 expected"),
        ("summary = { 'packets.none' = 1 }", "no packets.none"),
        ("printed = { hello = 1 }", "0 lines with \"hello\" printed, 1 expected"),
        ("host_memory = [{ context = 'made', offset = 4, words = [0, 7] }]", "from byte 4"),
        ("exit_status = 3", "no handler failed"),
    ];
    for (keys, part) in wrong {
        let (status, text) = test(&folder, &format!("{HELLO}{keys}\n"), &[]);
        assert_eq!(status, Some(1), "{keys}: {text}");
        assert!(text.contains("FAIL  hello") && text.contains(part), "{keys}: {text}");
    }
}

#[test]
fn what_the_checker_finds_fails_a_test() {
    if !has_gcc() {
        return;
    }
    let folder = Folder::new("expect-check");
    let generate = "[[run]]\nname = 'hello'\ngenerate = 'udp,size=128,messages=4,packets=16'\n";
    let (status, text) = test(&folder, generate, &[]);
    assert_eq!(status, Some(0), "{text}");
    // The same counter without the atomic: its updates get lost.
    let source = folder.0.join("made/made.c");
    let code = std::fs::read_to_string(&source).unwrap();
    let unlocked = code.replace("amo_add(packets, 1);", "*packets += 1;");
    assert_ne!(code, unlocked);
    std::fs::write(&source, unlocked).unwrap();
    let (status, text) = test(&folder, generate, &[]);
    assert!(status == Some(1) && text.contains("made.c:"), "{text}");
    let (status, text) = test(&folder, &format!("{generate}check = false\n"), &[]);
    assert_eq!(status, Some(0), "{text}");
}

#[test]
fn files_of_tests_that_are_wrong_are_refused() {
    if !has_gcc() {
        return;
    }
    let folder = Folder::new("expect-wrong");
    for (expect, part) in [
        ("", "no [[run]]"),
        ("[[run]]\ninn = []\n", "inn"),
        ("[[run]]\nin = [{ text = 'a' }]\n", "in, packet 1: a packet is one of"),
        ("[[run]]\ngenerate = 'udp'\ninput = 'a.pcap'\n", "one of in, input"),
        ("[[run]]\ninput = 'none.pcap'\n", "none.pcap"),
        ("[[run]]\noptions = ['--engine', 'native']\n", "--engine: a test takes --machine"),
        ("[[run]]\noptions = ['--set']\n", "its value is missing"),
        ("[[run]]\nexit_status = 1\n", "exit_status is 0, or 3"),
        ("[[run]]\nload = 'requests=1'\n", "go with nanoservices"),
        ("[[run]]\nhost_memory = [{ context = 'made', file = 'none.bin' }]\n", "none.bin"),
        (
            "[[run]]\ngenerate = 'udp,count=1'\nhost_memory = [{ context = 'nobody', words = [1] }]\n",
            "nobody",
        ),
    ] {
        let (status, text) = test(&folder, expect, &[]);
        assert_eq!(status, Some(2), "{expect}: {text}");
        assert!(text.contains(part), "{expect}: {text}");
    }
    let (status, text) = test(&folder, HELLO, &["--only", "nothing"]);
    assert!(status == Some(2) && text.contains("hello"), "{text}");
    let (_, text) = test(&folder, HELLO, &["--junit", "a", "--lcov", "a"]);
    assert!(text.contains("--lcov"), "{text}");
    let echo = example("nanopu_echo");
    folder.refuses(&["test", &echo], &["there is no", "expect.toml", "pinion new"]);
}

#[test]
fn results_are_written_for_others_too() {
    if !has_gcc() {
        return;
    }
    let folder = Folder::new("expect-files");
    let both = format!("{HELLO}out = []\n{}", HELLO.replace("'hello'\n", "'<&\"'\n"));
    let (status, text) =
        test(&folder, &both, &["--junit", "j.xml", "--lcov", "l.info", "--json", "j.json"]);
    assert_eq!(status, Some(1), "{text}");
    let read = |name: &str| std::fs::read_to_string(folder.0.join(name)).unwrap();
    let junit = read("j.xml");
    assert!(
        junit.contains("tests=\"2\" failures=\"1\"") && junit.contains("&lt;&amp;&quot;"),
        "{junit}"
    );
    assert_eq!(junit.matches("<testcase").count(), 2);
    let lcov = read("l.info");
    assert!(lcov.contains("made.c\n") && lcov.ends_with("end_of_record\n"), "{lcov}");
    let json: serde_json::Value = serde_json::from_str(&read("j.json")).unwrap();
    assert_eq!(json["tests"][0]["passed"], false);
    assert!(json["coverage"][0]["missed"].as_array().is_some_and(|lines| !lines.is_empty()));
}

#[test]
fn nanoservices_and_clusters_have_tests_too() {
    if !has_gcc() {
        return;
    }
    let folder = Folder::new("expect-kinds");
    let (echo, filter) = (example("nanopu_echo"), example("cluster_filter"));
    let messages = format!("{echo}/messages.toml");
    let of_service = format!(
        "[[run]]\nmessages = '{messages}'\n[[run]]\nload = 'requests=20'\nlatency_at_most = '1us'\n"
    );
    let service = folder.write("service.toml", of_service);
    let cluster = folder.write("cluster.toml", "[[run]]\nsummary = { ending = 'finished' }\n");
    for (app, file) in [(&echo, &service), (&filter, &cluster)] {
        let output = folder.pinion(&["test", app, "--expect", file.to_str().unwrap()]);
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
        assert!(text.contains(" 0 failed"), "{text}");
    }
    // An answer that does not come as the messages want it.
    folder.write("wrong.toml", "[[message]]\ncontext = 0\nsend = [41]\nreply = [42]\n");
    let bad = folder.write("bad.toml", "[[run]]\nmessages = 'wrong.toml'\n");
    let output = folder.pinion(&["test", &echo, "--expect", bad.to_str().unwrap()]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.code() == Some(1) && text.contains("42"), "{text}");
}
