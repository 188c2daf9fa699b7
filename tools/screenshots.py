"""Pictures of reports for the documentation, made by Chromium.

    python -m tools.screenshots                     docs/figures/report*.png
    python -m tools.screenshots adult.html -o shots the same parts of a report of your own

Without Chromium nothing is made, and a message says so.
"""

import argparse
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
FIGURES = Path(__file__).resolve().parents[1] / "docs" / "figures"
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    "--hide-scrollbars",
)
LIGHT, DARK = 1, 0  # as Blink's setting has them
SECONDS = 120


@dataclass(frozen=True)
class Shot:
    """One picture."""

    name: str
    kind: str  # of the example: "two", "many" or "three" classes, or "values"
    width: int
    height: int
    scheme: int
    section: str = ""  # the only one that is shown


SHOTS = (
    Shot("report", "two", 1000, 760, LIGHT),
    Shot("report-scores", "two", 1000, 1740, LIGHT, "scores"),
    Shot("report-phone", "values", 390, 800, DARK),
)


def browser() -> str | None:
    """The path of a browser that can take pictures."""
    return next((path for name in BROWSERS if (path := shutil.which(name))), None)


def take(program: str, page: Path, shot: Shot, target: Path) -> None:
    """Takes one picture of a page."""
    with tempfile.TemporaryDirectory() as folder:
        shown = Path(folder) / "page.html"
        text = page.read_text(encoding="utf-8")
        if shot.section:
            hidden = f"header, section:not(#{shot.section}) {{ display: none }}"
            text = text.replace("</head>", f"<style>{hidden}</style></head>", 1)
        shown.write_text(text, encoding="utf-8")
        command = [program, *FLAGS, f"--user-data-dir={folder}/profile"]
        command += [f"--blink-settings=preferredColorScheme={shot.scheme}"]
        command += [f"--window-size={shot.width},{shot.height}", f"--screenshot={target.resolve()}"]
        subprocess.run([*command, shown.as_uri()], check=True, capture_output=True, timeout=SECONDS)
    _shrink(target)


def _shrink(path: Path) -> None:
    """Fewer colours make a smaller file, where Pillow is installed."""
    try:
        from PIL import Image
    except ImportError:
        return
    Image.open(path).convert("RGB").quantize(64).save(path, optimize=True)


def example(kind: str, folder: Path) -> Path:
    """The report of a fit on embedded data."""
    from tests.helpers.reports import record_of

    from widemargin.report import render_html

    page = folder / f"{kind}.html"
    page.write_text(render_html(record_of(kind, 0.1)), encoding="utf-8")
    return page


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("report", nargs="?", type=Path, help="an HTML report, instead of examples")
    parser.add_argument("-o", "--output", type=Path, default=FIGURES, help="a folder")
    options = parser.parse_args()
    program = browser()
    if program is None:
        print(f"no pictures: none of {', '.join(BROWSERS)} is installed")
        return
    options.output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        for shot in SHOTS:
            page = options.report or example(shot.kind, Path(folder))
            target = options.output / f"{shot.name}.png"
            take(program, page, shot, target)
            print(f"{target}: {target.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
