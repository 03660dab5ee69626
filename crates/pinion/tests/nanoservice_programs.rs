//! Programs written for the published nanoPU run as they do there: C++, threads that return, counters
//! of events, scripts of messages that nobody answers.

mod service_folder;

use std::fs;
use std::path::{Path, PathBuf};

use service_folder::{Folder, has_gcc, repository};

/// Is a program that uses all of C++ that the SDK has, and says so when it is well.
fn cplusplus() -> String {
    fs::read_to_string(repository().join("tests/sdk/nanopu/cplusplus.cc")).unwrap()
}

/// Lists the files in a folder and those below it.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[test]
fn a_program_in_cplusplus_finds_all_it_needs() {
    if !has_gcc() {
        return;
    }
    let folder = Folder::new("cplusplus");
    folder.program("app.cc", &cplusplus(), "harts = 4");
    let built = folder.0.join("built");
    let (status, said, summary) = folder.run("app", &["--build-dir", built.to_str().unwrap()]);
    assert_eq!((status, &summary["exit_code"]), (0, &0.into()), "{said}");
    assert!(said.contains("all of C++ is well"), "{said}");
    let ends: Vec<&str> = said.lines().filter(|line| line.starts_with("destroyed")).collect();
    assert_eq!(ends, ["destroyed c", "destroyed 3", "destroyed 2", "destroyed 1"], "{said}");
    let left = files(&built);
    let has =
        |extension: &str| left.iter().any(|file| file.extension().is_some_and(|e| e == extension));
    assert!(has("elf") && !has("o"), "{left:?}");
}

#[test]
fn what_goes_wrong_in_cplusplus_is_said() {
    if !has_gcc() {
        return;
    }
    for (argument, code, part) in [
        ("virtual", 134, "a pure virtual function was called"),
        ("again", 134, "a static object needs itself"),
        ("new", 134, "new: no memory for 1099511627776 bytes"),
        ("threads", 1, "the thread of context 1 returned 1"),
    ] {
        let folder = Folder::new(argument);
        folder.program("app.cc", &cplusplus(), &format!("harts = 4\nargs = [\"{argument}\"]"));
        let (status, said, summary) = folder.run("app", &[]);
        assert_eq!((status, &summary["exit_code"]), (3, &code.into()), "{argument}: {said}");
        assert!(said.contains(part), "{argument}: {said}");
    }
}

#[test]
fn a_changed_cplusplus_source_or_header_is_compiled_again() {
    if !has_gcc() {
        return;
    }
    let folder = Folder::new("again");
    let source = "#include <cstdio>\n#include \"number.h\"\nint main() { return number<int>; }\n";
    folder.program("app.cpp", source, "harts = 1");
    for number in [3, 4] {
        let text = format!("template <typename T> constexpr T number = {number};\n");
        fs::write(folder.0.join("app/number.h"), text).unwrap();
        let (_, said, summary) = folder.run("app", &[]);
        assert_eq!(summary["exit_code"], number, "{said}");
    }
    let manifest = fs::read_to_string(folder.0.join("app/app.toml")).unwrap();
    let flags = "sources = [\"app.cpp\"]\ncxxflags = [\"-std=c++14\", \"-pedantic-errors\"]";
    let manifest = manifest.replace("sources = [\"app.cpp\"]", flags);
    fs::write(folder.0.join("app/app.toml"), manifest).unwrap();
    fs::write(folder.0.join("app/app.cpp"), "namespace a::b {}\nint main() {}\n").unwrap();
    let output = folder.pinion(&["build", "app"]);
    assert_eq!(output.status.code(), Some(2), "C++14 has no such namespaces");
    assert!(String::from_utf8_lossy(&output.stderr).contains("app.cpp:1"));
}

/// A program that sends each word back.
const ECHO: &str = "#include <lnic.h>\nint main(void) { lnic_add_context(0, 0); for (;;) { \
    lnic_wait(); uint64_t h = lnic_read(), a = lnic_read(); \
    lnic_write_r(h); lnic_write_r(a); lnic_msg_done(); } }\n";

/// Two threads that spin without telling anybody that they have nothing to do, or are done.
const SPINNING: &str = "#include <lnic.h>\n#include <lnic-scheduler.h>\n\
    int echo(void) { for (;;) { while (!lnic_ready()) asm volatile(\"nop\"); \
    uint64_t h = lnic_read(), a = lnic_read(); \
    if (a != 9) { lnic_write_r(h); lnic_write_r(a); } } }\n\
    int main(void) { scheduler_init(); start_thread(echo, 0, 0); start_thread(echo, 1, 0); \
    scheduler_run_timer(); }\n";

#[test]
fn a_script_goes_on_behind_a_message_without_an_answer_and_ends_threads_that_spin() {
    if !has_gcc() {
        return;
    }
    let folder = Folder::new("spinning");
    folder.service(SPINNING);
    let text = "[[message]]\nsend = [1]\nreply = [1]\n[[message]]\nsend = [9]\n\
                [[message]]\ncontext = 1\nsend = [9]\n[[message]]\ncontext = 1\nsend = [3]\nreply = [3]\n";
    fs::write(folder.0.join("app/messages.toml"), text).unwrap();
    let (status, said, summary) = folder.run("app", &[]);
    assert_eq!((status, &summary["ending"]), (0, &"finished".into()), "{said}");
    let counts = (&summary["messages"]["in"], &summary["messages"]["out"]);
    assert_eq!(counts, (&4.into(), &2.into()), "{said}");
    assert!(summary["cycles"].as_u64().unwrap() < 1_000_000, "{said}");

    // An answer where none was expected, before the next message goes.
    folder.service(ECHO);
    let text = "[[message]]\nsend = [8]\n[[message]]\nsend = [3]\nreply = [3]\n";
    fs::write(folder.0.join("app/messages.toml"), text).unwrap();
    let (status, said, _) = folder.run("app", &[]);
    assert_eq!(status, 1, "{said}");
    assert!(said.contains("nobody expected the message [8]"), "{said}");
    assert!(!said.contains("was answered"), "{said}");
}

#[test]
fn a_thread_of_another_context_than_0_may_return_what_it_likes() {
    if !has_gcc() {
        return;
    }
    let program = |first: i32| {
        format!(
            "#include <lnic.h>\n#include <lnic-scheduler.h>\n\
             int first(void) {{ for (int i = 0; i < 2; i++) {{ lnic_wait(); \
             uint64_t h = lnic_read(), a = lnic_read(); lnic_write_r(h); lnic_write_r(a + 1); \
             lnic_msg_done(); }} return {first}; }}\n\
             int second(void) {{ return -1; }}\n\
             int main(void) {{ scheduler_init(); start_thread(first, 0, 1); \
             start_thread(second, 1, 0); scheduler_run(); }}\n"
        )
    };
    let text = "[[message]]\nsend = [1]\nreply = [2]\n[[message]]\nsend = [5]\nreply = [6]\n";
    // The first thread still answers; then the program ends with the other's code, or with its own.
    for (first, code) in [(0, -1), (7, 7)] {
        let folder = Folder::new(&format!("threads{first}"));
        folder.service(&program(first));
        fs::write(folder.0.join("app/messages.toml"), text).unwrap();
        let (status, said, summary) = folder.run("app", &[]);
        assert_eq!((status, &summary["exit_code"]), (3, &code.into()), "{said}");
        assert_eq!(summary["messages"]["out"], 2, "{said}");
        assert!(said.contains("hart 0: the thread of context 1 returned -1"), "{said}");
        let output = folder.pinion(&["run", "app"]);
        let shown = String::from_utf8_lossy(&output.stdout).into_owned()
            + &String::from_utf8_lossy(&output.stderr);
        assert!(shown.contains(&format!("ended with exit code {code}")), "{shown}");
    }
}

#[test]
fn misses_of_the_data_cache_are_counted() {
    if !has_gcc() {
        return;
    }
    let folder = Folder::new("misses");
    folder.service(
        "#include <lnic.h>\n#include <stdio.h>\n#include <util.h>\n\
         static volatile char lines[4096] __attribute__((aligned(64)));\n\
         static void walk(void) { for (int i = 0; i < 4096; i += 64) (void)lines[i]; }\n\
         int main(void) {\n\
         write_csr(mhpmevent3, 0x202); write_csr(mhpmevent31, 0x102); write_csr(mhpmcounter4, 5);\n\
         uint64_t start = read_csr(mhpmcounter3); walk();\n\
         uint64_t cold = read_csr(mhpmcounter3) - start; walk();\n\
         uint64_t warm = read_csr(hpmcounter3) - start - cold;\n\
         write_csr(mcountinhibit, 8); start = read_csr(mhpmcounter3);\n\
         for (int i = 0; i < 64; i++) asm volatile(\"lb zero, 0(%0)\" :: \"r\"(0x88000000ul + i * 64));\n\
         printf(\"cold %lu warm %lu still %lu others %lu %lu\\n\", cold, warm,\n\
         read_csr(mhpmcounter3) - start, read_csr(mhpmcounter4), read_csr(mhpmcounter31));\n\
         return 0; }\n",
    );
    let (status, said, _) = folder.run("app", &[]);
    assert_eq!(status, 0, "{said}");
    assert!(said.contains("cold 64 warm 0 still 0 others 5 0"), "{said}");
}

#[test]
fn a_cluster_shows_a_code_below_0_and_addresses_in_four_parts() {
    if !has_gcc() {
        return;
    }
    let folder = Folder::new("cluster");
    let source =
        "#include <cstdio>\nint main(int, char **argv) { std::puts(argv[1]); return -1; }\n";
    folder.program("app.cc", source, "harts = 1");
    let text = "[cluster]\nname = \"pair\"\n[[node]]\nname = \"server\"\napp = \"app\"\ncount = 2\n\
                args = [\"{address:dotted}\"]\nends = true\n";
    fs::write(folder.0.join("cluster.toml"), text).unwrap();
    let output = folder.pinion(&["run", "."]);
    let shown = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    for part in ["10.0.0.2", "10.0.0.3", "exit code -1"] {
        assert!(shown.contains(part), "{shown}");
    }
}
