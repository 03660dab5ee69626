//! What is said of wrong programs: each mistake where it is, in words that say what to do, and the others
//! beside it.

mod support;

use pinion_p4::lnic::Pipelines;
use support::{HEAD, SHIPPED, check, program};

/// Checks statements of a control; gives what is said of them.
fn said(apply: &str) -> String {
    said_of(&program("", apply))
}

fn said_of(text: &str) -> String {
    let checked = check(text);
    let said = checked.found.to_text(&checked.sources, false);
    assert!(checked.program.is_none() || checked.found.errors() == 0, "{said}");
    said
}

/// Tells that each part is said.
#[track_caller]
fn says(said: &str, parts: &[&str]) {
    for part in parts {
        assert!(said.contains(part), "`{part}` is not in:\n{said}");
    }
}

#[test]
fn a_right_program_is_left_alone() {
    assert_eq!(said("if (hdr.ipv4.isValid()) { hdr.ipv4.ttl = hdr.ipv4.ttl - 1; }"), "");
    for name in SHIPPED {
        let name = format!("sdk/p4/{name}.p4");
        let checked = pinion_p4::load(&name, &pinion_p4::library::Library).unwrap();
        assert_eq!(checked.found.to_text(&checked.sources, false), "");
        assert!(checked.program.is_some());
    }
}

#[test]
fn what_goes_with_which_unit_is_told() {
    let folder = std::env::temp_dir().join(format!("pinion-p4-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let load = |locals: &str, apply: &str| {
        let file = folder.join("ingress.p4");
        std::fs::write(&file, program(locals, apply)).unwrap();
        Pipelines::load(&file.to_string_lossy(), "sdk/p4/raw/egress.p4", None)
            .map(|_| ())
            .unwrap_err()
    };
    let sum = "UserExtern<frameSum_req_t, frameSum_resp_t>(4) ip_frameSum;";
    let arrived = "UserExtern<delivered_meta_t, dummy_t>(1) delivered_event;";
    let ask =
        "frameSum_req_t a; a.from = 14; a.length = 20; frameSum_resp_t b; ip_frameSum.apply(a, b);";
    let tell = "delivered_meta_t c; c.tx_msg_id = 0; c.delivered_pkts = 1; c.msg_len = 1; \
                c.buf_ptr = 0; c.buf_size_class = 0; dummy_t d; delivered_event.apply(c, d);";
    let cases = [
        (format!("{sum} {arrived}"), format!("{ask} {tell}"), "does not go with delivered_event"),
        (
            arrived.to_owned(),
            format!("{tell} meta.meta.payload_len = 8;"),
            "meta.meta.payload_len does not go with delivered_event",
        ),
        (
            "UserExtern<frameSum_req_t, dummy_t>(4) odd_delay;".to_owned(),
            "frameSum_req_t a; a.from = 0; a.length = 0; dummy_t b; odd_delay.apply(a, b);"
                .to_owned(),
            "gives back what it is given",
        ),
        (
            "UserExtern<dummy_t, frameSum_resp_t>(4) odd_frameSum;".to_owned(),
            "dummy_t a; a.unused = 0; frameSum_resp_t b; odd_frameSum.apply(a, b);".to_owned(),
            "odd_frameSum has no field `from`",
        ),
        (
            "UserExtern<dummy_t, dummy_t>(4) odd_unit;".to_owned(),
            "dummy_t a; a.unused = 0; dummy_t b; odd_unit.apply(a, b);".to_owned(),
            "the NIC has no unit odd_unit",
        ),
    ];
    for (locals, apply, what) in cases {
        let (key, said) = load(&locals, &apply);
        assert_eq!(key, "transport.ingress");
        says(&said, &[what]);
    }
    let windows =
        Pipelines::load("sdk/p4/raw/ingress.p4", "sdk/p4/dctcp/egress.p4", None).unwrap_err();
    assert_eq!(windows.0, "transport.egress");
    says(&windows.1, &["sets meta.meta.window, but sdk/p4/raw/ingress.p4 has no delivered_event"]);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn several_mistakes_are_told_at_a_time_each_with_its_place() {
    let said = said(
        "bit<16> a = hdr.eth.dst;\n bit<8> b = 1\n bit<8> c = 2;\n if (c) { smeta.drop = 1; }\n \
         hdr.eth.typ = 0; unknown = 3; c = c + a;",
    );
    says(
        &said,
        &[
            "bit<16> expected, but this is bit<48>",
            "cast it: (bit<16>) x",
            "a semicolon is missing",
            "bool expected, but this is bit<8>",
            "compare it with a number: x != 0",
            "has no member `typ`",
            "did you mean type?",
            "there is no `unknown` here",
            "`+` between bit<8> and bit<16>",
            "give both the same width",
            "test.p4:19:",
            "^^^",
        ],
    );
}

#[test]
fn what_an_old_compiler_let_pass_is_told_precisely() {
    let comma = said("smeta,drop = 1;");
    says(&comma, &["a comma between `smeta` and `drop`", "write smeta.drop"]);
    let header = said("hdr.homa.flags = 1;");
    says(&header, &["the struct headers has no member `homa`", "it has eth, ipv4, ndp"]);
    let field = said("creditToBtx_meta_t c; c.prio = 1;");
    says(&field, &["the struct creditToBtx_meta_t has no member `prio`", "is declared here"]);
    let bare = said("bit<8> x = flags;");
    says(&bare, &["there is no `flags` here"]);
    let owner = said("drop = 1;");
    says(&owner, &["did you mean smeta.drop?"]);
}

#[test]
fn invalid_headers_and_unset_variables_are_found() {
    says(
        &said("bit<8> x = hdr.ndp.flags;"),
        &["reads hdr.ndp.flags, but hdr.ndp is not valid here", "hdr.ndp.isValid()"],
    );
    says(
        &said("bit<8> x = hdr.ipv4.ttl;"),
        &["warning", "reads hdr.ipv4.ttl also when hdr.ipv4 is not valid"],
    );
    says(&said("bit<8> x; bit<8> y = x;"), &["reads x, which was never set"]);
    says(
        &said("bit<8> x; if (hdr.eth.type == 1) { x = 1; } bit<8> y = x;"),
        &["warning", "reads x, which is not set on every way here"],
    );
    says(
        &said("hdr.ndp.flags = 1;"),
        &["writes to hdr.ndp, which is not valid here", "setValid()"],
    );
    says(
        &said("hdr.ndp.setValid(); hdr.ndp.flags = 1;"),
        &["hdr.ndp is sent while", "src_context", "was never set"],
    );
    // Conditions are understood.
    for right in [
        "bit<8> x = 0; if (!hdr.ipv4.isValid()) { smeta.drop = 1; } else { x = hdr.ipv4.ttl; }",
        "if (hdr.ipv4.isValid() && hdr.ipv4.ttl == 0) { smeta.drop = 1; }",
        "if (!hdr.ipv4.isValid() || hdr.ipv4.ttl == 0) { smeta.drop = 1; }",
        "bit<8> x = hdr.ipv4.isValid() ? hdr.ipv4.ttl : 0;",
        "if (!hdr.ipv4.isValid()) { exit; } hdr.ipv4.ttl = hdr.ipv4.ttl - 1;",
    ] {
        assert_eq!(said(right), "", "{right}");
    }
}

#[test]
fn an_extern_is_asked_once() {
    let locals = "UserExtern<dummy_t, dummy_t>(1) unit;";
    let ask = |apply: &str| said_of(&program(locals, &format!("dummy_t d = {{ 0 }}; {apply}")));
    assert_eq!(ask("unit.apply(d, d);"), "");
    assert_eq!(ask("if (hdr.eth.type == 1) { unit.apply(d, d); } else { unit.apply(d, d); }"), "");
    says(
        &ask("if (hdr.eth.type == 1) { unit.apply(d, d); } unit.apply(d, d);"),
        &["unit is asked twice for one packet", "first here", "apply it once"],
    );
    says(&ask(""), &["unit is never asked"]);
    says(&ask("unit.apply(d, smeta);"), &["unit answers with struct dummy_t"]);
    says(
        &said_of(&program("UserExtern<dummy_t, dummy_t>(0) unit;", "")),
        &["a latency of 0 cycles", "1 to 1024"],
    );
}

#[test]
fn widths_follow_the_rules() {
    for (wrong, what) in [
        ("bit<8> x = 1; bit<16> y = x;", "bit<16> expected, but this is bit<8>"),
        ("bit<8> x = 300;", "300 does not fit into bit<8>"),
        ("bit<8> x = 16w3;", "bit<8> expected, but this is bit<16>"),
        ("bit<8> x = 1; bool b = x[0:0] == 1 && x;", "`&&` between bool and bit<8>"),
        ("bit<8> x = 1; bit<4> y = x[8:5];", "there are no bits [8:5] of bit<8>"),
        ("bit<8> x = 1; x = x * x;", "`*` of values that packets bring"),
        ("bit<8> x = 1; x = 1 << x;", "what is shifted has no width"),
        ("bool b = true; bit<8> x = (bit<8>) b;", "bool cannot be cast to bit<8>"),
        ("bit<0> x;", "there is no bit<0>"),
        ("bit<200> x;", "there is no bit<200>"),
        ("bit<8> x = !hdr.eth.isValid() ? 1 : 2;", "a choice between numbers"),
        ("int<8> x;", "the type `int` is not part of this P4"),
    ] {
        says(&said(wrong), &[what]);
    }
    let right = "bit<8> x = 1; bit<16> y = (bit<16>) x << 3; y[7:0] = x; bit<1> f = (bit<1>) (x == 1); \
                 bit<24> z = x ++ y; x = (x > 3) ? x : 8w2; x = ~x; bit<(2 + 2 * 3)> w = x; \
                 const bit<8> K = 255; w = K & x; bool b = x >= 3 || z[23:16] != w; \
                 if (b) { smeta.drop = f; }";
    assert_eq!(said(right), "");
}

#[test]
fn what_p4_has_and_this_subset_has_not_says_what_to_do() {
    says(&said_of(&program("for (;;) { }", "")), &["`for` is not part of this P4", "help"]);
    says(&said_of(&format!("{HEAD}\nenum E {{ A, B }}")), &["`enum` is not part of this P4"]);
    says(&said("bit<8> x = 1; x += 1;"), &["`+=` is not part of this P4"]);
    says(&said("switch (1) { }"), &["`switch` is not part of this P4"]);
}

#[test]
fn parsers_are_checked() {
    let parser = |states: &str| {
        let whole = program("", "");
        let (before, rest) = whole.split_once("state start").unwrap();
        let (_, after) = rest.split_once("control C").unwrap();
        said_of(&format!("{before}{states}}}\ncontrol C{after}"))
    };
    says(&parser("state begin { transition accept; }"), &["has no state `start`"]);
    says(
        &parser("state start { transition nxt; } state next { transition accept; }"),
        &["did you mean next?"],
    );
    says(
        &parser("state start { transition a; } state a { transition start; }"),
        &["the state start leads back to itself"],
    );
    says(&parser("state start { }"), &["has no transition", "the parser accepts no packet"]);
    says(
        &parser(
            "state start { packet.extract(hdr.eth); transition select(hdr.eth.type) { 0x1_0000: accept; } }",
        ),
        &["65536 does not fit into bit<16>", "this select has no default"],
    );
    says(
        &parser("state start { transition accept; } state alone { transition accept; }"),
        &["nothing leads to the state alone"],
    );
}

#[test]
fn the_preprocessor_is_checked() {
    for (text, what) in [
        ("#include \"nowhere.p4\"", "cannot read nowhere.p4: there is no such file"),
        ("#if 1\n", "this `#if` has no `#endif`"),
        ("#endif", "`#endif` without an `#if`"),
        ("#define F(x) x", "the macro F has parameters"),
        ("#if (1\n#endif", "this bracket is not closed"),
        ("#if 1 / 0\n#endif", "it has no value"),
        ("#include \"self.p4\"", "more than 32 deep"),
        ("#wrong", "there is no directive `#wrong`"),
        ("#error no\n", "#error: no"),
    ] {
        says(&said_of(text), &[what]);
    }
    let text = "#define A 3\n#define B (A + 1)\n#if defined(A) && B == 4 && !defined C\nconst bit<8> X = B;\n\
                #elif 1\nnonsense\n#else\nnonsense\n#endif\n#undef A\n#ifdef A\nnonsense\n#endif";
    assert_eq!(said_of(text), "");
}

#[test]
fn a_file_that_is_missing_is_one_error_and_grammar_is_checked_without_it() {
    for file in ["core.p4", "xsa.p4", "lnic.p4", "ndp.p4"] {
        let whole = program("", "hdr.eth.type = 7;");
        let missing = whole.replace(file, &format!("no_{file}"));
        assert_ne!(missing, whole);
        let checked = check(&missing);
        let said = checked.found.to_text(&checked.sources, false);
        assert_eq!((checked.found.errors(), checked.found.warnings()), (1, 0), "{said}");
        says(&said, &[&format!("cannot read no_{file}: there is no such file")]);
        assert!(checked.program.is_none());
    }
    let both = program("", "hdr.eth.type = 7 +;").replace("lnic.p4", "no_lnic.p4");
    assert_eq!(check(&both).found.errors(), 2);
}

#[test]
fn main_is_checked() {
    let without = program("", "").replace("XilinxPipeline(P(), C(), D()) main;", "");
    says(&said_of(&without), &["the program has no `main`"]);
    let swapped = program("", "").replace("P(), C(), D()", "P(), D(), C()");
    says(&said_of(&swapped), &["`D`"]);
    let other = program("", "").replace("XilinxPipeline", "V1Switch");
    says(&said_of(&other), &["there is no package `V1Switch`"]);
    let in_out = program("", "").replace("control C(inout headers", "control C(in headers");
    says(&said_of(&in_out), &["goes another way"]);
}
