"""Text that comes from files, as a reader may see it."""

__all__ = ["visible"]


def visible(text: str) -> str:
    """The text with control characters, also those that reverse the direction, as escapes.

    Examples
    --------
    >>> print(visible("a\x1b[2Jb\u202e"))
    a\\x1b[2Jb\\u202e
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
