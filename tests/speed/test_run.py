"""Tests of what tests/speed/run.py says of its counts."""

import importlib.util
import unittest
from pathlib import Path

SPEC = importlib.util.spec_from_file_location("speed_run", Path(__file__).with_name("run.py"))
run = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(run)


class Verdicts(unittest.TestCase):
    def test_what_is_as_it_was_is_nothing_to_say(self):
        self.assertIsNone(run.verdict(1_040_000, 1_000_000))
        self.assertIsNone(run.verdict(960_000, 1_000_000))

    def test_both_directions_are_told_apart(self):
        self.assertIn("6.0% more", run.verdict(1_060_000, 1_000_000))
        self.assertIn("--record", run.verdict(940_000, 1_000_000))
        self.assertIn("not recorded", run.verdict(1, None))

    def test_valgrinds_count_is_found(self):
        found = run.COUNTED.search("==7== I   refs:      1,234,567\n")
        self.assertEqual(found[1], "1,234,567")


if __name__ == "__main__":
    unittest.main()
