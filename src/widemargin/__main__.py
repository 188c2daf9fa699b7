"""The command ``widemargin``, also as ``python -m widemargin``."""

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line, or explain how to install the packages that it needs."""
    try:
        import rich  # noqa: F401
        import typer  # noqa: F401
    except ImportError:
        sys.exit("error: the command line needs typer and rich: pip install 'widemargin[cli]'")
    try:
        from widemargin.cli import app

        app(prog_name="widemargin")
    except KeyboardInterrupt:  # while modules are imported; commands handle it themselves
        sys.exit(130)


if __name__ == "__main__":
    main()
