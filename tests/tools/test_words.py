"""The word list: phrases are found wherever they stand, and the list itself is in order."""

from pathlib import Path

import pytest

from tools import words

PHRASES = words.entries("# a comment\n\\bdear(er)?\\b\texpensive\nat the most\tat most\n")


def found(text):
    return [(hit.line, hit.found) for hit in words.hits(Path("file"), text, PHRASES)]


def test_phrases_are_found_with_their_lines():
    assert found("cheap\nDear and dearer,\nat the most\n") == [
        (2, "Dear"),
        (2, "dearer"),
        (3, "at the most"),
    ]
    assert found("a dearth of endearing names\n") == []


@pytest.mark.parametrize(
    "text",
    [
        "ten at\nthe most",
        "# ten at\n# the most",
        "// ten at the\n    // most",
        "f('ten at '\n  'the most')",
        '"""Ten at\n    the most."""',
        "#: ten at\n#: the most",
    ],
)
def test_a_line_break_hides_nothing(text):
    assert [phrase for _, phrase in found(text)] == ["at the most"]


def test_a_line_without_a_better_phrase_is_an_error():
    with pytest.raises(ValueError, match=r"words\.txt:2"):
        words.entries("a\tb\nno tab here\n")


def test_the_list_has_thirty_phrases_or_more():
    assert len(words.entries(words.LIST.read_text("utf-8"))) >= 30


def test_the_command_fails_where_there_is_something_to_change(tmp_path, capsys):
    page = tmp_path / "page.md"
    page.write_text("Nothing to say here.\nKernels that are dear.\n", "utf-8")
    assert words.main([str(page)]) == 1
    assert f"{page}:2: 'dear'; better: expensive" in capsys.readouterr().out
    page.write_text("Kernels that are expensive.\n", "utf-8")
    assert words.main([str(page)]) == 0
