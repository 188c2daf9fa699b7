"""Run commands in this process; test files that use this are skipped if a package is missing."""

import json

import pytest

pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
testing = pytest.importorskip("typer.testing")
cli = pytest.importorskip("widemargin.cli")

# Trains in a moment, and does not search.
MARGIN = ("--model", "margin-perceptron")
# Trains until an epoch without mistakes; the examples are linearly separable.
EXACT = ("--model", "perceptron", "--set", "tol=null")


def run(*arguments, code=0):
    """Run a command in this process; only `SystemExit` may end it."""
    result = testing.CliRunner().invoke(cli.app, [str(a) for a in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return result


def run_json(*arguments, code=0):
    def refuse(constant):
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(run(*arguments, "--json", code=code).stdout, parse_constant=refuse)


def fails(*arguments):
    """The one line that an expected error prints."""
    result = run(*arguments, code=1)
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("error: ")
    return line
