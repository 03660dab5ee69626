"""Tests of check_architecture.py."""

import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import check_architecture as architecture  # noqa: E402


class Layers(unittest.TestCase):
    LAYERS = [["low", "low2"], ["high"]]

    def problems(self, dependencies):
        return list(architecture.layer_problems(dependencies, self.LAYERS))

    def test_downwards_is_well(self):
        self.assertEqual(self.problems({"high": {"low", "low2"}, "low": set()}), [])

    def test_upwards_and_sideways_are_named(self):
        self.assertEqual(self.problems({"low": {"high"}}), ["low uses high, which lies above it"])
        self.assertEqual(self.problems({"low": {"low2"}}), ["low uses low2, which lies beside it"])

    def test_a_crate_without_a_layer_is_named(self):
        self.assertIn("new is in no layer", self.problems({"new": set()})[0])

    def test_dependencies_of_targets_count_and_those_of_tests_do_not(self):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            for crate in "abcd":
                (folder / crate).mkdir()
                (folder / crate / "Cargo.toml").write_text(f'[package]\nname = "{crate}"\n')
            with (folder / "a/Cargo.toml").open("a") as manifest:
                manifest.write('[dependencies]\nb = "1"\nserde = "1"\n[dev-dependencies]\nc = "1"\n')
                manifest.write("[target.'cfg(unix)'.dependencies]\nd = \"1\"\n")
            self.assertEqual(architecture.read_dependencies(folder)["a"], {"b", "d"})

    def test_every_crate_of_the_project_is_in_one_layer(self):
        crates = [crate for layer in architecture.LAYERS for crate in layer]
        self.assertEqual(len(crates), len(set(crates)))


class Modules(unittest.TestCase):
    def used(self, text):
        return architecture.used_modules(architecture.plain(text))

    def test_paths_and_use_trees_are_read(self):
        self.assertEqual(self.used("use crate::a::B; fn f() { crate::c::d() }"), {"a", "c"})
        self.assertEqual(
            self.used("use crate::{a::{B, x::C}, d, e::*, f::{self, G}};"), {"a", "d", "e", "f"}
        )

    def test_comments_strings_and_tests_do_not_count(self):
        self.assertEqual(self.used('// crate::a\nlet x = "crate::b"; /* crate::c */'), set())
        self.assertEqual(self.used("#[cfg(test)]\nmod tests {\n    use crate::a;\n}\n"), set())
        self.assertEqual(self.used("let quote = '\"'; crate::a::f(); let s = \"x\";"), {"a"})

    def test_circles_are_found_and_lines_are_not(self):
        graph = {"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": set(), "e": {"a", "e"}}
        self.assertEqual(architecture.circles(graph), [["b", "c"]])
        graph = {"a": {"b"}, "b": {"a"}, "c": {"a", "d"}, "d": {"e"}, "e": {"c"}}
        self.assertEqual(architecture.circles(graph), [["a", "b"], ["c", "d", "e"]])

    def test_a_source_tree_becomes_a_graph(self):
        with tempfile.TemporaryDirectory() as name:
            source = Path(name)
            (source / "b").mkdir()
            (source / "lib.rs").write_text("mod a; mod b; mod c;")
            (source / "a.rs").write_text("use super::b::X;")
            (source / "b/mod.rs").write_text("use crate::c;")
            (source / "b/deep.rs").write_text("use super::a; use crate::b::X;")
            (source / "b/tests.rs").write_text("use crate::a;")
            (source / "c.rs").write_text("")
            graph = architecture.module_graph(source)
            self.assertEqual(graph, {"a": {"b"}, "b": {"c"}, "c": set()})


class Sizes(unittest.TestCase):
    def test_an_exception_may_only_shrink(self):
        compare = architecture.compare
        self.assertEqual(list(compare({"x": 600}, {"x": 600})), [])
        self.assertEqual(list(compare({"x": 550}, {"x": 600})), [])
        self.assertEqual(len(list(architecture.shrunk({"x": 550}, {"x": 600}))), 1)
        self.assertIn("more than", next(compare({"x": 601}, {"x": 600})))
        self.assertIn("no exception", next(compare({"x": 501}, {})))
        self.assertIn("strike", next(compare({}, {"x": 600})))

    def test_unsafe_code_has_its_place_and_its_reason(self):
        with tempfile.TemporaryDirectory() as name:
            source = Path(name) / "one/src"
            source.mkdir(parents=True)
            (source / "lib.rs").write_text(
                "// SAFETY: it is.\nunsafe impl Send for A {}\n" + "\n" * 9 + "unsafe { b() }\n"
            )
            problems = list(architecture.unsafe_problems(Path(name), {"one": 1, "two": 3}))
        self.assertIn("one/src/lib.rs:12 has no", problems[0])
        self.assertIn("one has 2 places", problems[1])
        self.assertIn("two has 0 places", problems[2])
        self.assertEqual(len(problems), 3)

    def test_files_crates_and_circles_are_measured(self):
        with tempfile.TemporaryDirectory() as name:
            crate = Path(name) / "big"
            (crate / "src").mkdir(parents=True)
            (crate / "Cargo.toml").write_text('[package]\nname = "big"\n')
            for at in range(29):
                (crate / f"src/m{at}.rs").write_text("\n" * 500)
            (crate / "src/long.rs").write_text("use crate::m1;\n" * 501)
            (crate / "src/m1.rs").write_text("use crate::long;\n")
            found = architecture.measure(Path(name))
            lines = 28 * 500 + 501 + 1
            self.assertEqual(
                found,
                {"lines of big": lines, "lines of big/src/long.rs": 501, "modules of big in circles": 2},
            )


if __name__ == "__main__":
    unittest.main()
