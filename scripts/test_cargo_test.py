"""Tests of cargo_test.py."""

import os
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import cargo_test  # noqa: E402


def script(folder, name, text):
    path = Path(folder, name)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return (name, Path(folder), str(path))


class Binaries(unittest.TestCase):
    def run_all(self, *scripts):
        written = []
        with tempfile.TemporaryDirectory() as folder:
            binaries = [script(folder, *one) for one in scripts]
            failed = cargo_test.run_all(binaries, 2, 3, dict(os.environ), written.append)
        return failed, b"".join(written).decode()

    def test_the_longest_begin_first_and_the_others_stay_in_order(self):
        names = ["b", "check", "a", "in_the_loop"]
        turns = cargo_test.in_turn([(name, Path(), name) for name in names])
        self.assertEqual([name for name, *_ in turns], ["in_the_loop", "check", "b", "a"])

    def test_all_are_run_in_their_folders_and_their_words_come_whole(self):
        talk = "for i in 1 2 3; do echo $0 $i; sleep 0.02; done | sed 's:.*/::'"
        failed, told = self.run_all(("one", talk), ("two", talk))
        self.assertEqual(failed, [])
        for name in ("one", "two"):
            self.assertIn("".join(f"{name} {part}\n" for part in (1, 2, 3)), told)

    def test_one_is_told_its_threads_and_begins_in_its_folder(self):
        _, told = self.run_all(("it", "echo $1; pwd -P; readlink -f $CARGO_MANIFEST_DIR"))
        threads, folder, manifest = told.rstrip("\n").split("\n")[-3:]
        self.assertEqual((threads, folder), ("--test-threads=3", manifest))

    def test_one_that_fails_is_named_and_the_others_still_run(self):
        bad, killed = ("bad", "echo no; exit 101"), ("killed", "kill -9 $$")
        failed, told = self.run_all(bad, killed, ("good", "echo yes"))
        self.assertEqual([name.split()[0] for name in sorted(failed)], ["bad", "killed"])
        self.assertIn("yes\n", told)


if __name__ == "__main__":
    unittest.main()
