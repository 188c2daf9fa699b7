"""The last parts of a report: certificates in plain words, and how to repeat the run."""

from collections.abc import Mapping
from typing import Any

from widemargin._runtime.text import visible
from widemargin.analysis.report import FAILS, HOLDS, INAPPLICABLE, MARKS
from widemargin.report.document import Code, Heading, Part, Section, Table, Text
from widemargin.report.formats import cut, name_of, number, percent, plural, quoted
from widemargin.report.record import Record

__all__ = ["certificate", "reproduction"]

MOST_MACHINES = 8
MOST_LINES = 30
MOST_PARAMETERS = 80
LONGEST_CODE = 20_000
MEANINGS = {
    "KKT conditions": "At the exact optimum every training row meets a condition. The violation "
    "(kkt_violation) says by how much the worst row misses it, in units where the margin is 1.",
    "primal and dual": "The optimum lies between two numbers that are computed from the model. "
    "Their distance (the duality gap) is the most that any other machine of this form could gain.",
    "recorded optimum": "What the fit noted down is what the stored model gives when it is "
    "computed again.",
    "dual variables": "The coefficients of the support vectors keep the bounds that C sets.",
    "support vectors": "Only these training rows decide the prediction.",
    "w is an expansion": "The machine is a sum over training rows, as the theory says.",
    "margin": "The width of the band around the boundary that the machine tries to keep empty.",
    "kernel": "The kernel is a true inner product, so that the optimum is unique.",
    "radius": "The size of the data, as the kernel sees it.",
    "hinge bounds errors": "The cost that was minimised is at least the number of training errors.",
    "ensemble": "The final model is a mean of its members, so its loss is at most their mean loss.",
    "recorded error": "The loss that the search noted down is plausible on the training rows.",
    "validation": "How far the error on the held-out rows can be from that on all future rows.",
}


def certificate(record: Record) -> Section:
    """How far each machine is from the exact optimum of its problem."""
    title = "How exact the machines are"
    lines = [one for one in record.certificate if one.get("status") != INAPPLICABLE]
    left_out = len(record.certificate) - len(lines)
    if not lines:
        text = "No certificate: the model has no machine whose optimality can be checked."
        return Section("certificate", title, (Text(text, "note"),))
    parts: list[Part] = [Text(_exactness(lines)), *_share(record, lines), *_failures(lines)]
    members = list(dict.fromkeys(str(one.get("member") or "") for one in lines))
    for member in members[:MOST_MACHINES]:
        own = [one for one in lines if str(one.get("member") or "") == member]
        parts.append(_certificate_of(member, own))
    said = cut(len(members), MOST_MACHINES, "machines")
    if left_out:
        said += f" {plural(left_out, 'line')} that say nothing about these machines left out."
    if said:
        parts.append(Text(said.strip(), "note"))
    names = [name for name in MEANINGS if any(one.get("name") == name for one in lines)]
    if names:
        meanings = tuple((name, MEANINGS[name]) for name in names)
        head_of = (Heading("line"), Heading("meaning", "long"))
        parts.append(Table("What the lines mean", head_of, meanings))
    return Section("certificate", title, tuple(parts))


def _certificate_of(member: str, lines: list[Mapping[str, Any]]) -> Table:
    rows = []
    for one in lines[:MOST_LINES]:
        status = str(one.get("status", ""))
        mark = f"{MARKS.get(status, '')} {name_of(status)}".strip()
        rows.append((name_of(one.get("name", "")), mark, name_of(one.get("text", ""), 300)))
    head = (Heading("line"), Heading("status", "name"), Heading("found", "long"))
    title = f"Certificate of {name_of(member, 120)}" if member else "Certificate"
    return Table(title, head, tuple(rows), cut(len(lines), MOST_LINES, "lines"))


def _exactness(lines: list[Mapping[str, Any]]) -> str:
    """How near the optimum the worst machine is."""
    text = (
        "A large-margin machine solves a problem with one best answer, and it can be checked how "
        "near the machine is to it. "
    )
    kkt = [one for one in lines if one.get("name") == "KKT conditions"]
    violations = [_value(one, "violation") for one in kkt]
    known = [value for value in violations if value is not None]
    if kkt and all(one.get("status") == HOLDS for one in kkt):
        whose = "Every machine here" if len(kkt) > 1 else "The machine here"
        text += f"{whose} is the exact optimum of its problem to within its tolerance"
        text += f"; the largest violation is {number(max(known))}. " if known else ". "
        text += "Running it longer, or with another solver, would not change it noticeably: what "
        text += "is left of the error is due to the data, the inputs and the parameters."
    gaps = [
        (gap, primal)
        for one in lines
        if (gap := _value(one, "gap")) is not None and (primal := _value(one, "primal"))
    ]
    if gaps:
        share = max(max(gap, 0.0) / abs(primal) for gap, primal in gaps)
        text = f"{text.strip()} The duality gap is at most {number(share)} of the cost that was "
        text += "minimised."
    return text


def _share(record: Record, lines: list[Mapping[str, Any]]) -> list[Part]:
    """How much of the final model the certificates are about."""
    about = {one.get("member") for one in lines}
    weights = {str(one.get("description")): float(one.get("weight") or 0) for one in record.members}
    rest = {name: weight for name, weight in weights.items() if name not in about}
    if not rest or not about & weights.keys():
        return []
    names = ", ".join(quoted(name) for name in list(rest)[:MOST_MACHINES])
    text = (
        f"Certificates are about {percent(1.0 - sum(rest.values()))} of the final model. The rest "
        f"({names}) has no problem with one best answer, as networks, or kept no certificate."
    )
    return [Text(text)]


def _value(line: Mapping[str, Any], name: str) -> float | None:
    value = (line.get("values") or {}).get(name)
    return float(value) if isinstance(value, int | float) else None


def _failures(lines: list[Mapping[str, Any]]) -> list[Part]:
    broken = sum(one.get("status") == FAILS for one in lines)
    if not broken:
        return []
    text = (
        f"{broken:,} lines do not hold. The fit was stopped before the optimum, or its tolerance "
        "is too large: fit with more time (--time-limit), or a smaller tol."
    )
    return [Text(text, "warning")]


def reproduction(record: Record) -> Section:
    """Parameters, versions, times, and the command and code that repeat the run."""
    parts: list[Part] = []
    for title, text, language in (
        ("By command", record.command, "sh"),
        ("In Python", record.code, "python"),
    ):
        if text:
            parts.append(Code(title, _program(text), language))
    for title, found, form in (
        ("Parameters", record.parameters, "number"),
        ("Versions", record.versions, "text"),
        ("Time of each stage", record.seconds, "seconds"),
    ):
        if found:
            rows = tuple(
                (name_of(key), _cell(value)) for key, value in list(found.items())[:MOST_PARAMETERS]
            )
            said = cut(len(found), MOST_PARAMETERS, title.lower())
            parts.append(Table(title, (Heading("name"), Heading("value", form)), rows, said))
    if not parts:
        parts.append(Text("Nothing was noted down about the run.", "note"))
    return Section("reproduce", "How to repeat it", tuple(parts))


def _cell(value: Any) -> Any:
    if isinstance(value, bool | int | float):
        return value
    return "none" if value is None else name_of(value, 200)


def _program(text: str) -> str:
    """Lines of a program, each without control characters."""
    lines = "\n".join(visible(line) for line in text.splitlines())
    if len(lines) <= LONGEST_CODE:
        return lines
    return f"{lines[:LONGEST_CODE]}\n# … cut after {LONGEST_CODE:,} characters"
