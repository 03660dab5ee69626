"""Executes the notebooks in docs/notebooks, and renders them into the book.

    python tests/python/notebooks.py --write [NAME]...

Each becomes a page docs/src/notebooks/NAME.md with its pictures beside it. The pages are what the tests
compare with, but for the pictures.
"""

from __future__ import annotations

import argparse
import base64
import importlib
import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]
NOTEBOOKS = REPOSITORY / "docs/notebooks"
PAGES = REPOSITORY / "docs/src/notebooks"
SECONDS = 600


def names() -> list[str]:
    return sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb"))


def execute(name: str) -> Any:
    """Runs a notebook in a folder with the examples, and gives it with what came out."""
    # Of what has no types everything is allowed.
    nbformat: Any = importlib.import_module("nbformat")
    client_of: Any = importlib.import_module("nbclient").NotebookClient
    notebook = nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(
            REPOSITORY / "examples", Path(folder) / "examples", ignore=shutil.ignore_patterns("build")
        )
        os.environ["POLARS_FMT_MAX_ROWS"] = "40"
        os.environ["MPLCONFIGDIR"] = folder
        client = client_of(
            notebook,
            timeout=SECONDS,
            kernel_name="python3",
            coalesce_streams=True,
            resources={"metadata": {"path": folder}},
        )
        client.execute()
    return notebook


def render(name: str, notebook: Any) -> tuple[str, dict[str, bytes]]:
    """Gives the page, and its pictures by their files' names."""
    parts, pictures = [], dict[str, bytes]()

    def picture(kind: str, data: bytes) -> None:
        file = f"{name}-{len(pictures) + 1}.{kind}"
        pictures[file] = data
        parts.append(f"![What the cell above shows]({file})")

    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            parts.append(cell.source)
            continue
        parts.append(f"```python\n{cell.source}\n```")
        for output in cell.outputs:
            data = output.get("data", {})
            html = data.get("text/html", "")
            for svg in re.findall(r"<svg.*?</svg>", html, re.DOTALL):
                picture("svg", svg.encode())
            if "image/svg+xml" in data:
                picture("svg", data["image/svg+xml"].encode())
            elif "image/png" in data:
                picture("png", base64.b64decode(data["image/png"]))
            elif text := output.get("text") or data.get("text/plain"):
                if not text.startswith(("<pinion.", "<IPython")):
                    parts.append(f"```text\n{text.rstrip()}\n```")
    parts.append(f"The notebook is `docs/notebooks/{name}.ipynb`.")
    return "\n\n".join(parts) + "\n", pictures


def main() -> None:
    parser = argparse.ArgumentParser(description="Executes the notebooks of the book.")
    parser.add_argument("--write", action="store_true", help="write the pages and their pictures")
    parser.add_argument("names", nargs="*", metavar="NAME")
    arguments = parser.parse_args()
    for name in arguments.names or names():
        page, pictures = render(name, execute(name))
        print(f"{name}: {len(pictures)} pictures")
        if arguments.write:
            PAGES.mkdir(exist_ok=True)
            (PAGES / f"{name}.md").write_text(page)
            for file, data in pictures.items():
                (PAGES / file).write_bytes(data)


if __name__ == "__main__":
    main()
