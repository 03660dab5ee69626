"""Tests of what run.py leaves out of outputs and of what it says about a difference."""

import json
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import run  # noqa: E402


class Digests(unittest.TestCase):
    def test_time_of_the_host_is_left_out_of_json_at_every_depth(self):
        before = json.dumps({"cycles": 5, "runs": [{"host_seconds": 1.5, "packets": 3}]})
        after = json.dumps({"cycles": 5, "runs": [{"host_seconds": 9.5, "packets": 3}]})
        self.assertEqual(run.digest_json(before, {}), run.digest_json(after, {}))

    def test_a_part_of_json_that_differs_is_named(self):
        before = run.digest_json('{"cycles": 5, "packets": {"in": 3}}', {})
        after = run.digest_json('{"cycles": 6, "packets": {"in": 3}}', {})
        said = list(run.differences({"summary.json": before}, {"summary.json": after}))
        self.assertEqual(said, ["summary.json differs: cycles"])

    def test_sections_alone_are_looked_at_where_a_kind_names_them(self):
        kind = {"sections": ["packets"]}
        before = run.digest_json('{"cycles": 5, "packets": 1}', kind)
        self.assertEqual(before, run.digest_json('{"cycles": 6, "packets": 1}', kind))
        self.assertNotEqual(before, run.digest_json('{"cycles": 5, "packets": 2}', kind))

    def test_time_of_the_host_is_left_out_of_csv(self):
        before, after = "a,host_seconds,b\n1,0.5,2\n", "a,host_seconds,b\n1,0.7,2\n"
        self.assertEqual(run.digest_csv(before, {}), run.digest_csv(after, {}))
        self.assertNotEqual(run.digest_csv(before, {}), run.digest_csv("a,host_seconds,b\n1,0.7,3\n", {}))

    def test_times_and_places_are_left_out_of_what_is_printed(self):
        text = "time  9 µs  simulated; host 3.4 ms, slowdown 3\n/tmp/x/out.csv, 4 run in 2.1 s by 2\n"
        cleaned = run.clean_text(text, [("/tmp/x", "OUT")])
        self.assertEqual(cleaned, "time  9 µs  simulated; host …\nOUT/out.csv, 4 run in …\n")

    def test_new_and_missing_outputs_are_named(self):
        said = list(run.differences({"a": "1", "b": "1"}, {"b": "1", "c": "1"}))
        self.assertEqual(said, ["a is missing", "c is new"])


class Files(unittest.TestCase):
    def test_expected_is_read_as_it_is_written_a_line_each(self):
        table = {"one, with a comma": {"b": "2", "a": "x:1 y:2"}, "two": {"status": "0"}}
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "expected.json"
            run.write_expected(path, table, ["two", "one, with a comma"])
            self.assertEqual(run.read_expected(path), table)
            self.assertEqual(len(path.read_text().splitlines()), 3 + 2)

    def test_runs_have_names_of_their_own(self):
        text = '[a.runs]\n"x" = "run y"\n[b.runs]\n"x" = "run z"\n'
        with self.assertRaises(ValueError):
            run.read_runs(text)

    def test_there_are_runs_of_every_verb_and_kind(self):
        runs = run.read_runs((run.FOLDER / "runs.toml").read_text())
        verbs = {found.words[0] for found in runs}
        self.assertEqual(verbs, {"run", "trace", "sweep", "figure", "calibrate", "machine"})
        self.assertGreaterEqual(len(runs), 60)


if __name__ == "__main__":
    unittest.main()
