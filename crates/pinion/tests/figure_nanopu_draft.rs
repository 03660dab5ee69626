//! Figures of the nanoservices draft: the book shows what comes out, and the draft's results come out
//! of the machine.
//!
//! `PINION_BLESS=1 cargo test -p pinion --test figure_nanopu_draft` writes the book's charts, tables of
//! rows and comparisons anew.

mod figures;

use std::sync::OnceLock;

use pinion::figure::{Produced, Request, Table};

use figures::{check_book, check_published, has_gcc, make};

/// Names the figures.
const FIGURES: [&str; 4] =
    ["nanopu-fig8", "nanopu-draft-table1", "nanopu-draft-table2", "nanopu-draft-fig1"];

/// Makes every figure, once for all tests.
fn all() -> &'static [Produced] {
    static ALL: OnceLock<Vec<Produced>> = OnceLock::new();
    ALL.get_or_init(|| FIGURES.iter().map(|name| make(name, &Request::default())).collect())
}

fn table(name: &str) -> &'static Table {
    &all().iter().find(|produced| produced.name == name).unwrap().table
}

#[test]
fn the_book_shows_what_comes_out() {
    if !has_gcc() {
        return;
    }
    check_book(all(), "figures-nanopu.md", "figure_nanopu_draft");
}

#[test]
fn every_published_value_is_measured_and_every_difference_has_its_reason() {
    if !has_gcc() {
        return;
    }
    check_published(all());
}

#[test]
fn the_register_interface_is_faster_in_every_application() {
    if !has_gcc() {
        return;
    }
    let fig8 = table("nanopu-fig8");
    for application in ["loopback", "nfv", "neural", "othello", "nbody"] {
        assert!(fig8.rows_with("application", application).count() >= 2, "{application}");
    }
    for run in fig8.names("run") {
        let cycles = |node| fig8.lookup(&[("run", &run), ("node", node)], "cycles").unwrap();
        assert!(cycles("nanoPU") * 1.2 < cycles("DMA NIC"), "{run}");
    }
}

#[test]
fn calls_to_a_simulated_node_cost_little_more_than_their_work() {
    if !has_gcc() {
        return;
    }
    let fig1 = table("nanopu-draft-fig1");
    let call = |calls: &str, share: &str| {
        fig1.lookup(&[("calls", calls), ("share", share)], "call").unwrap() - 0.5
    };
    let simulated = call("nanoPU, simulated", "0.5");
    // Two links of 44 ns and a node that takes 13 at least; no microsecond.
    assert!((0.0001..0.001).contains(&simulated), "{simulated} ms");
    assert!(call("a tenth of both", "0.5") > 50.0 * simulated);
    // Without calls that are late, the job ends with its own tasks up to the last but one.
    let job = |cores: &str| {
        fig1.lookup(&[("calls", "nanoPU, simulated"), ("cores", cores)], "job").unwrap()
    };
    assert_eq!(job("500"), 250.0);
    assert!((0.5..0.52).contains(&job("1000")), "{}", job("1000"));
}
