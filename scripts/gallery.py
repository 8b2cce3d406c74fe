#!/usr/bin/env python3
"""Draws the gallery of docs/guides/python-figures.md, and writes what is between its marks.

    make python && .venv/bin/python scripts/gallery.py RESULTS_DIR [FIGURE]...

RESULTS_DIR has a folder for each figure, as `l4s paper --out RESULTS_DIR` makes them; figures
without one are left as they are. Each picture is made for light and for dark pages, as SVG, or as
PNG where that is smaller.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from PIL import Image

from l4s import figures

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "guides" / "python-figures.md"
PICTURES = ROOT / "docs" / "figures"
BEGIN, END = "<!-- gallery -->", "<!-- end of the gallery -->"
#: A larger SVG becomes a PNG.
MOST_BYTES = 75_000
#: Sharp enough on a screen with two pixels for one.
DPI = 144
#: Colours of a PNG: few are many for lines and bars, and a third of the bytes.
COLOURS = 96


def draw(figure: str, folder: Path) -> None:
    """Makes both pictures of a figure; of one kind, so that a page can swap them."""
    made = {}
    for dark in (False, True):
        with figures.style(dark=dark):
            axes = figures.draw(figure, folder)
            path = PICTURES / f"python-{figure}{'-dark' if dark else ''}.svg"
            figures.save(axes, path)
            path.write_text(rounded(path.read_text(encoding="utf-8")), encoding="utf-8")
            made[path] = axes, dark
    large = any(path.stat().st_size > MOST_BYTES for path in made)
    for path, (axes, dark) in made.items():
        path.with_suffix(".png").unlink(missing_ok=True)
        if large:
            path.unlink()
            with figures.style(dark=dark):
                figures.save(axes, path.with_suffix(".png"), dpi=DPI)
            with Image.open(path.with_suffix(".png")) as picture:
                few = picture.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
            few.save(path.with_suffix(".png"), optimize=True)


def rounded(svg: str) -> str:
    """Coordinates of paths to a hundredth of a point, which nobody sees, and half the bytes."""

    def shorter(attribute: re.Match[str]) -> str:
        return re.sub(r"\d+\.\d{3,}", lambda number: f"{float(number[0]):.2f}", attribute[0])

    return re.sub(r' (?:d|x|y)="[^"]*"', shorter, svg)


def section(figure: str, paper: figures.Paper) -> str:
    """The page's text about a figure; nothing for one that has no picture."""
    found = sorted(path.name for path in PICTURES.glob(f"python-{figure}.*"))
    if not found:
        return ""
    light = found[0]
    dark = light.replace(".", "-dark.")
    call = f'figures.{paper.draw.__name__}("out/paper/{figure}"'
    call += "".join(f", {key}={value!r}" for key, value in paper.options.items()) + ")"
    return f"""### {figure}

{paper.paper}: {paper.shows}.

<!-- not run: python/tests draws each figure -->
```python
figures.draw("{figure}", "out/paper/{figure}")
# the same as
{call}
```

<picture>
  <source media="(prefers-color-scheme: dark)" srcset="../figures/{dark}">
  <img alt="{paper.paper}: {paper.shows}" src="../figures/{light}">
</picture>

"""


def main() -> None:
    """The pictures, then the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path, help="a folder with a result folder per figure")
    parser.add_argument("figures", nargs="*", help="only these, such as dctth-4")
    args = parser.parse_args()
    for figure in args.figures or figures.PAPERS:
        if (args.results / figure / "runs.parquet").is_file():
            print(figure, file=sys.stderr)
            draw(figure, args.results / figure)
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    sections = "".join(section(figure, paper) for figure, paper in figures.PAPERS.items())
    PAGE.write_text(f"{before}{BEGIN}\n\n{sections}{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
