//! No text is a panic, and none takes long: programs with pieces exchanged, cut and doubled, bytes at
//! random, and what would make a careless front end grow without end.

mod support;

use std::time::{Duration, Instant};

use pinion_p4::flat::{Flat, Interface};
use pinion_sim::random::Xorshift64;
use support::{HEAD, SHIPPED, check, program};

/// Time that a program may take on a computer that does much else; the longest here take a hundredth of it
/// on an idle one, and what grows without end takes for ever.
const LONGEST: Duration = Duration::from_secs(60);

/// Words that mean something, to be put anywhere.
const WORDS: [&str; 44] = [
    "{",
    "}",
    "(",
    ")",
    "<",
    ">",
    "[",
    "]",
    ";",
    ",",
    ".",
    ":",
    "?",
    "=",
    "==",
    "&&",
    "&&&",
    "<<",
    "-",
    "!",
    "~",
    "++",
    "#define X X X\n",
    "#if 1\n",
    "#endif\n",
    "#include \"self.p4\"\n",
    "bit<8>",
    "bit<",
    "struct",
    "header",
    "control",
    "parser",
    "state",
    "transition",
    "select",
    "apply",
    "if",
    "else",
    "0xffffffffffffffffffffffffffffffff",
    "hdr",
    "8w255",
    "const",
    "\"",
    "/*",
];

fn seed() -> u64 {
    let given = std::env::var("PINION_P4_SEED").ok().and_then(|text| text.parse().ok());
    given.unwrap_or(0x9e37_79b9)
}

/// Draws a number below another one.
fn below(random: &mut Xorshift64, end: u64) -> u64 {
    random.draw() % end
}

/// Checks a text, and that what is said of it can be written.
fn survives(text: &str, what: &str) {
    let begun = Instant::now();
    let checked = check(text);
    let said = checked.found.to_text(&checked.sources, false);
    assert_eq!(checked.found.errors() == 0, !said.contains("error:"), "{what}: {said}");
    if let Some(program) = &checked.program {
        // What has too many operations or values is told, too.
        let interface = Interface { deparses: true, ..Interface::default() };
        let _ = Flat::compile(program, &interface);
    }
    let took = begun.elapsed();
    assert!(took < LONGEST, "{what} took {took:?}:\n{}", &text[..text.len().min(4000)]);
}

fn sources() -> Vec<String> {
    let included = ["include/lnic", "include/ndp", "include/udp", "include/xsa"];
    let shipped = SHIPPED.iter().chain(&included);
    let read = |name: &&str| pinion_assets::text(&format!("sdk/p4/{name}.p4")).unwrap().unwrap();
    let mut sources: Vec<String> = shipped.map(read).collect();
    sources.push(program("bit<8> a;", "a = hdr.eth.type[7:0]; if (a > 3) { smeta.drop = 1; }"));
    sources
}

/// Changes a program somewhere.
fn mutate(text: &str, random: &mut Xorshift64) -> String {
    let mut words: Vec<&str> = text.split_inclusive([' ', '\n', ';', '(', ')', '.', ',']).collect();
    for _ in 0..=below(random, 4) {
        let (at, other) =
            (below(random, words.len() as u64) as usize, below(random, words.len() as u64));
        match below(random, 5) {
            0 => {
                words.remove(at);
            }
            1 => words.swap(at, other as usize),
            2 => words.insert(at, WORDS[below(random, WORDS.len() as u64) as usize]),
            3 => words[at] = WORDS[below(random, WORDS.len() as u64) as usize],
            _ => words.insert(at, words[other as usize]),
        }
        if words.is_empty() {
            break;
        }
    }
    let mut text = words.concat();
    if below(random, 8) == 0 {
        let mut cut = below(random, text.len() as u64 + 1) as usize;
        while !text.is_char_boundary(cut) {
            cut -= 1;
        }
        text.truncate(cut);
    }
    text
}

#[test]
fn changed_programs_are_errors_and_no_panic() {
    let seed = seed();
    println!("PINION_P4_SEED={seed} cargo test -p pinion-p4 --test hostile");
    let random = &mut Xorshift64::new(seed);
    let sources = sources();
    for round in 0..1500 {
        let source = &sources[below(random, sources.len() as u64) as usize];
        let text = mutate(source, random);
        survives(&text, &format!("seed {seed}, round {round}"));
    }
}

#[test]
fn words_and_bytes_at_random_are_errors_and_no_panic() {
    let seed = seed();
    println!("PINION_P4_SEED={seed} cargo test -p pinion-p4 --test hostile");
    let random = &mut Xorshift64::new(seed ^ 1);
    for round in 0..1500 {
        let count = below(random, 60);
        let mut text = if below(random, 2) == 0 { HEAD.to_owned() } else { String::new() };
        for _ in 0..count {
            match below(random, 3) {
                0 => text.push(char::from_u32(below(random, 0x500) as u32).unwrap_or('?')),
                _ => text.push_str(WORDS[below(random, WORDS.len() as u64) as usize]),
            }
            text.push(' ');
        }
        survives(&text, &format!("seed {seed}, round {round}"));
    }
}

#[test]
fn what_could_grow_without_end_does_not() {
    let many = |part: &str, times: usize| part.repeat(times);
    let doubling: String =
        (0..60).map(|n| format!("#define A{n} A{} A{}\n", n + 1, n + 1)).collect();
    let structs: String =
        (1..60).map(|n| format!("struct S{n} {{ S{} a; S{} b; }}\n", n - 1, n - 1)).collect();
    let states: String = (0..120)
        .map(|n| {
            let next = if n == 119 { "accept".to_owned() } else { format!("s{}", n + 1) };
            format!("state s{n} {{ transition select(hdr.eth.type) {{ 1: {next}; default: {next}; }} }}\n")
        })
        .collect();
    let deep_if = format!("{}smeta.drop = 1;", many("if (smeta.drop == 1) ", 90));
    let cases = [
        (
            "brackets",
            program("", &format!("bit<8> x = {}1{};", many("(", 100_000), many(")", 100_000))),
        ),
        ("braces", program("", &many("{", 100_000))),
        ("signs", program("", &format!("bit<8> x = {}1;", many("~", 100_000)))),
        ("a long sum", program("", &format!("bit<8> x = 1{};", many(" + 1", 100_000)))),
        ("members", program("", &format!("x{};", many(".a", 100_000)))),
        ("else if", program("", &many("if (true) { } else ", 50_000))),
        ("ifs", program("", &deep_if)),
        ("casts", program("", &format!("bit<8> x = {}1;", many("(bit<8>)", 50_000)))),
        ("choices", program("", &format!("bit<8> x = {}1;", many("true ? 8w1 : ", 50_000)))),
        ("types", format!("{HEAD}{} x;", many("UserExtern<", 50_000))),
        ("macros", format!("{doubling}A0")),
        ("a macro of itself", "#define A A A\n#define B B C\n#define C B\nA B".to_owned()),
        ("structs", format!("struct S0 {{ bit<8> a; }}\n{structs}")),
        ("ifs of the preprocessor", many("#if 1\n", 50_000)),
        ("brackets of the preprocessor", format!("#if {}1\n#endif", many("(", 50_000))),
        ("states", program("", "").replace("state ip", &format!("{states}state ip"))),
        ("includes", many("#include \"self.p4\"\n", 3)),
        ("errors", program("", &many("x = y;\n", 50_000))),
        ("doubled values", program("", &many("hdr.eth.dst = hdr.eth.dst + hdr.eth.dst;\n", 300))),
        (
            "choices of choices",
            program(
                "",
                &many(
                    "hdr.eth.src = hdr.eth.src < hdr.eth.dst ? hdr.eth.src + 1 : hdr.eth.dst;\n",
                    300,
                ),
            ),
        ),
        (
            "many ways",
            program(
                "",
                &(0..1000)
                    .map(|n| {
                        format!("if (hdr.eth.dst == {n}) {{ hdr.eth.src = hdr.eth.src + {n}; }}\n")
                    })
                    .collect::<String>(),
            ),
        ),
        (
            "variables",
            program("", &(0..30_000).map(|n| format!("bit<8> v{n};")).collect::<String>()),
        ),
    ];
    for (what, text) in cases {
        println!("{what}");
        survives(&text, what);
    }
}

#[test]
fn the_shipped_programs_are_checked_in_no_time() {
    for name in SHIPPED {
        let name = format!("sdk/p4/{name}.p4");
        // The best of some runs: others compute at the same time.
        let time = |_| {
            let begun = Instant::now();
            let checked = pinion_p4::load(&name, &pinion_p4::library::Library).unwrap();
            assert_eq!(checked.found.errors(), 0);
            begun.elapsed()
        };
        let best = (0..10).map(time).min().unwrap();
        assert!(best < Duration::from_millis(50), "{name}: {best:?}");
    }
}

/// Processor time of this thread so far, where the system tells it.
fn processor_time() -> Option<Duration> {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    told.split(' ').next()?.parse().ok().map(Duration::from_nanos)
}

#[test]
fn a_program_is_checked_in_less_than_50_ms() {
    const MOST: Duration = Duration::from_millis(50);
    let more = ["homa", "vxlan", "telemetry", "balancer", "cache", "othello"];
    let more = more.iter().flat_map(|name| ["ingress", "egress"].map(|it| format!("{name}/{it}")));
    for name in SHIPPED.into_iter().map(str::to_owned).chain(more) {
        let file = format!("sdk/p4/{name}.p4");
        // Others use the computer, too: the best of a few.
        let times = (0..5).filter_map(|_| {
            let begin = processor_time()?;
            let checked = pinion_p4::load(&file, &pinion_p4::library::Library).unwrap();
            assert!(checked.program.is_some(), "{file}");
            Some(processor_time()? - begin)
        });
        let best = times.min().unwrap_or_default();
        assert!(best < MOST, "{file}: {best:?}");
    }
}
