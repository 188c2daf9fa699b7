"""Pictures of reports: made by Chromium, or a message."""

import subprocess
import sys

import pytest

pytest.importorskip("tools", reason="the tools are in the source tree only")

from tools import screenshots


def test_without_a_browser_a_message_says_so(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(screenshots, "BROWSERS", ("no-such-browser",))
    monkeypatch.setattr(sys, "argv", ["screenshots", "-o", str(tmp_path / "shots")])
    screenshots.main()
    assert "none of no-such-browser is installed" in capsys.readouterr().out
    assert not (tmp_path / "shots").exists()


def test_pages_are_given_to_the_browser_with_one_section(tmp_path, monkeypatch):
    calls = []

    def run(command, **_):
        page = command[-1].removeprefix("file://")
        with open(page, encoding="utf-8") as file:
            calls.append((command, file.read()))

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(screenshots, "_shrink", lambda path: None)
    page = tmp_path / "page.html"
    page.write_text("<html><head></head><body></body></html>", encoding="utf-8")
    shot = screenshots.Shot("scores", "two", 390, 800, screenshots.DARK, "scores")
    screenshots.take("browser", page, shot, tmp_path / "a.png")
    command, text = calls[0]
    assert "--window-size=390,800" in command
    assert "--blink-settings=preferredColorScheme=0" in command
    assert "section:not(#scores)" in text


@pytest.mark.slow(seconds=5)
@pytest.mark.skipif(screenshots.browser() is None, reason="Chromium is not installed")
def test_pictures_have_the_size_that_was_asked_for(tmp_path):
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    page = tmp_path / "page.html"
    page.write_text("<!doctype html><title>a</title><h1>b</h1>", encoding="utf-8")
    shot = screenshots.Shot("a", "two", 390, 500, screenshots.LIGHT)
    screenshots.take(screenshots.browser(), page, shot, tmp_path / "a.png")
    assert image.open(tmp_path / "a.png").size == (390, 500)
