"""Tests of advisories.py, with a database of their own."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import advisories  # noqa: E402


class Versions(unittest.TestCase):
    def test_requirements_are_cargos(self):
        for requirement, fine, other in [
            (">= 1.2.3", ["1.2.3", "1.10.0", "2.0.0"], ["1.2.2", "1.2.3-beta.1"]),
            ("< 0.9", ["0.8.12", "0.1.0"], ["0.9.0", "1.0.0"]),
            ("<= 1.2", ["1.2.9", "1.1.0"], ["1.3.0"]),
            ("> 1.2.3", ["1.2.4", "2.0.0"], ["1.2.3", "1.2.3+build"]),
            ("= 1.2.3", ["1.2.3"], ["1.2.4", "1.2.2"]),
            ("^1.2.3", ["1.2.3", "1.9.0"], ["2.0.0", "1.2.2"]),
            ("^0.2.3", ["0.2.9"], ["0.3.0"]),
            ("^0.0.3", ["0.0.3"], ["0.0.4"]),
            ("1.4", ["1.4.0", "1.99.0"], ["2.0.0", "1.3.9"]),
            ("~1.4.2", ["1.4.9"], ["1.5.0", "1.4.1"]),
            ("1.4.*", ["1.4.9"], ["1.5.0"]),
            (">= 1.0, < 1.5", ["1.0.0", "1.4.9"], ["0.9.0", "1.5.0"]),
            ("> 1.0.0-rc.9", ["1.0.0-rc.10", "1.0.0"], ["1.0.0-rc.9", "1.0.0-rc.2"]),
        ]:
            for version in fine:
                self.assertTrue(advisories.allows(requirement, version), (requirement, version))
            for version in other:
                self.assertFalse(advisories.allows(requirement, version), (requirement, version))

    def test_what_is_no_requirement_is_an_error(self):
        for wrong in ["", ">=", "x.1", "1.2.3.4", ">= 1.0 < 2"]:
            with self.assertRaises(ValueError):
                advisories.allows(wrong, "1.0.0")


class Databases(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory()
        self.addCleanup(self.place.cleanup)
        self.root = Path(self.place.name)
        self.lock = self.root / "Cargo.lock"
        self.lock.write_text(
            "".join(
                f'[[package]]\nname = "{name}"\nversion = "{version}"\nsource = "registry+x"\n'
                for name, version in [("leaky", "1.2.3"), ("sound", "0.4.0"), ("left", "2.0.0")]
            )
            + '[[package]]\nname = "ours"\nversion = "0.1.0"\n'
        )

    def advise(self, package, number, versions, more=""):
        folder = self.root / "db/crates" / package
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"RUSTSEC-2026-{number:04}.md").write_text(
            f'```toml\n[advisory]\nid = "RUSTSEC-2026-{number:04}"\npackage = "{package}"\ndate = "2026-01-01"\n{more}\n'
            f"[versions]\n{versions}\n```\n\n# It leaks\n\nMuch.\n"
        )

    def check(self):
        return advisories.check(self.root / "db", [self.lock])

    def test_what_is_patched_or_unaffected_is_well(self):
        self.advise("leaky", 1, 'patched = [">= 1.2.3"]')
        self.advise("leaky", 2, 'patched = [">= 1.3"]\nunaffected = ["< 1.2.4"]')
        self.advise("elsewhere", 3, "patched = []")
        self.advise("ours", 4, "patched = []")
        self.assertEqual(self.check(), ("ok", ["4 known, none against 3 packages"]))

    def test_what_is_not_is_named_with_its_title(self):
        self.advise("leaky", 1, 'patched = [">= 1.2.4"]')
        self.advise("left", 2, "patched = []", 'informational = "unmaintained"')
        self.advise("sound", 3, "patched = []", 'withdrawn = "2026-02-01"')
        self.advise("sound", 4, "patched = []", 'informational = "notice"')
        word, found = self.check()
        self.assertEqual(word, "FAIL")
        self.assertEqual(
            found,
            [
                "leaky 1.2.3 is vulnerable: RUSTSEC-2026-0001, It leaks",
                "left 2.0.0 is unmaintained: RUSTSEC-2026-0002, It leaks",
            ],
        )

    def test_what_cannot_be_read_fails(self):
        self.advise("leaky", 1, 'patched = ["newer"]')
        word, found = self.check()
        self.assertEqual((word, len(found)), ("FAIL", 1))
        self.assertIn("RUSTSEC-2026-0001.md cannot be read", found[0])

    def test_a_folder_without_any_is_no_database(self):
        self.assertEqual(self.check()[0], "FAIL")

    def test_none_is_said_to_be_skipped_and_one_named_is_used(self):
        script = [sys.executable, str(Path(advisories.__file__)), "--lock", str(self.lock)]
        clean = {name: value for name, value in os.environ.items() if name != "PINION_ADVISORIES"}
        without = subprocess.run(script, env={**clean, "CARGO_HOME": str(self.root)}, capture_output=True, text=True)
        self.assertEqual((without.returncode, without.stdout[:5]), (0, "skip "))
        self.advise("leaky", 1, "patched = []")
        named = {**clean, "PINION_ADVISORIES": str(self.root / "db")}
        done = subprocess.run(script, env=named, capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout[:5]), (1, "FAIL "))

    def test_what_deny_ignores_is_left_out(self):
        self.advise("leaky", 1, "patched = []")
        found = list(advisories.find(self.root / "db", {("leaky", "1.2.3")}, ["RUSTSEC-2026-0001"]))
        self.assertEqual(found, [])


if __name__ == "__main__":
    unittest.main()
