"""Tests of what tests/speed/run.py says of its counts."""

import importlib.util
import unittest
from pathlib import Path
from unittest import mock

SPEC = importlib.util.spec_from_file_location("speed_run", Path(__file__).with_name("run.py"))
run = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(run)


class Verdicts(unittest.TestCase):
    def test_what_is_as_it_was_is_nothing_to_say(self):
        self.assertEqual(run.verdict(1_040_000, 1_000_000), (None, False))
        self.assertEqual(run.verdict(960_000, 1_000_000), (None, False))

    def test_more_is_wrong_and_fewer_is_told(self):
        said, is_wrong = run.verdict(1_060_000, 1_000_000)
        self.assertIn("6.0% more", said)
        self.assertTrue(is_wrong)
        said, is_wrong = run.verdict(940_000, 1_000_000)
        self.assertIn("6.0% fewer", said)
        self.assertFalse(is_wrong)

    def test_what_was_never_counted_is_wrong(self):
        said, is_wrong = run.verdict(1, None)
        self.assertIn("not recorded", said)
        self.assertTrue(is_wrong)

    def test_another_compiler_is_named_and_nothing_compared(self):
        made = {**run.made_with(), "rustc": "rustc 1.0.0"}
        with (
            mock.patch.object(run.shutil, "which", return_value="valgrind"),
            mock.patch.object(run, "is_reference_compiler", return_value=True),
            mock.patch.dict(run.os.environ, {name: "" for name in run.FLAGS}),
        ):
            self.assertIn("recorded with rustc 1.0.0", run.why_not({"made_with": made}))
            self.assertIsNone(run.why_not({"made_with": run.made_with()}))

    def test_what_is_compared_may_take_so_many_times_the_other(self):
        self.assertEqual(run.too_many({"transport, P4": 1_600, "transport, built-in": 1_000}), {})
        self.assertEqual(run.too_many({"transport, P4": 4_300}), {})
        found = run.too_many({"transport, P4": 4_300, "transport, built-in": 1_000})
        self.assertIn("4.30 times", found["transport, P4"])

    def test_valgrinds_count_is_found(self):
        found = run.COUNTED.search("==7== I   refs:      1,234,567\n")
        self.assertEqual(found[1], "1,234,567")


if __name__ == "__main__":
    unittest.main()
