"""Tests of test.py and reach.py."""

import importlib.util
import subprocess
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import reach  # noqa: E402

# By its place: Python has a module `test` of its own.
SPEC = importlib.util.spec_from_file_location("steps", Path(__file__).with_name("test.py"))
steps = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(steps)

ALL = list(steps.STEPS)


def reached(*paths):
    return list(reach.steps_of(paths, ALL))


class Reach(unittest.TestCase):
    def test_the_table_names_steps_alone(self):
        named = {step for _, found in reach.TABLE for step in found} - {"*"}
        self.assertEqual(named - set(ALL), set())

    def test_every_line_of_the_table_is_of_use(self):
        listed = subprocess.run(
            ["git", "ls-files"], cwd=steps.REPOSITORY, capture_output=True, text=True, check=False
        ).stdout.split("\n")
        if len(listed) < 2:
            self.skipTest("not a working copy")
        for pattern, _ in reach.TABLE:
            if pattern not in ("LICENSE*", "rustfmt.toml"):
                self.assertTrue(reach.fnmatch.filter(listed, pattern), pattern)

    def test_every_step_is_reached_by_something_else_than_everything(self):
        named = {step for _, found in reach.TABLE for step in found}
        self.assertEqual(set(ALL) - named, set())

    def test_what_nobody_has_thought_of_runs_everything(self):
        self.assertEqual(reached("something/new"), ALL)
        self.assertEqual(reached("Cargo.lock"), ALL)

    def test_a_page_runs_the_pages_alone(self):
        self.assertEqual(reached("docs/src/tutorial.md"), ["docs"])

    def test_a_unit_runs_its_tests_and_what_simulates(self):
        found = reached("crates/pinion-spin/src/mpq.rs")
        for name in ("clippy", "cargo", "examples", "golden", "fpspin", "pspinsim", "docs"):
            self.assertIn(name, found)
        self.assertNotIn("sdk", found)
        self.assertNotIn("pspinsim", reached("crates/pinion-nanopu/src/node.rs"))

    def test_several_paths_add_up_in_the_order_of_the_steps(self):
        found = reach.steps_of(["tests/golden/runs.toml", "deny.toml"], ALL)
        self.assertEqual(list(found.items())[0], ("dependencies", "deny.toml"))
        self.assertEqual(found["golden"], "tests/golden/runs.toml")

    def test_a_change_of_nothing_reaches_nothing(self):
        self.assertEqual(reached(), [])


class SideBySide(unittest.TestCase):
    def test_runners_are_steps_and_those_of_the_examples_are_in_one_list(self):
        self.assertLessEqual(set(steps.RUNNERS), set(ALL))
        lists = steps.in_turn(steps.RUNNERS)
        self.assertEqual(sorted(sum(lists, [])), sorted(steps.RUNNERS))
        self.assertEqual(set(lists[0]), steps.IN_EXAMPLES)

    def test_every_runner_in_python_is_among_them(self):
        given = {name for name, command in steps.STEPS.items() if "run.py" in str(command[1])}
        # `speed` and `python` build what they test: they would take the processors from the others.
        self.assertEqual(given - {"speed", "python"}, set(steps.RUNNERS))

    def test_outputs_are_whole_and_in_order(self):
        written = []

        def run(name, write):
            for part in range(3):
                write(f"{name} {part}\n".encode())
                time.sleep(0.01 if name == "sdk" else 0.001)
            return name

        names = ["sdk", "examples", "cluster", "docs"]
        results = steps.run_side_by_side(names, 3, run, written.append)
        self.assertEqual(list(results), names)
        wanted = "".join(f"{name} {part}\n" for name in names for part in range(3))
        self.assertEqual(b"".join(written).decode(), wanted)

    def test_a_runner_that_breaks_is_not_hidden(self):
        def run(name, write):
            raise OSError(name)

        with self.assertRaises(OSError):
            steps.run_side_by_side(["sdk"], 2, run, lambda _: None)


class Results(unittest.TestCase):
    def count(self, *lines):
        counts = steps.Counts()
        for line in lines:
            counts.read(line)
        return counts.passed, counts.failed, counts.skipped

    def test_lines_of_each_kind_are_counted(self):
        self.assertEqual(self.count(b"ok   a\n", b"FAIL b\n", b"skip c\n", b"okay\n"), (1, 1, 1))
        self.assertEqual(self.count(b"test result: FAILED. 5 passed; 2 failed; 0 ignored\n"), (5, 2, 0))
        lines = [b"test_a (m.C.test_a) ... ok\n", b"test_b (m.C.test_b) ... ERROR\n"]
        self.assertEqual(self.count(*lines), (1, 1, 0))

    def test_a_step_that_dies_without_a_word_has_failed(self):
        counts = steps.Counts()
        counts.close(False)
        self.assertEqual((counts.passed, counts.failed), (0, 1))


if __name__ == "__main__":
    unittest.main()
