"""What was found of many files, as text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

File = dict[str, Any]
MOST = 40


def status(file: File, exact: float) -> str:
    """One word of `MEANING`."""
    if file.get("opened"):
        errors = file.get("errors")
        if not isinstance(errors, dict):
            return "opened"
        return "exact" if max(errors.values()) <= exact else "differs"
    if file["stopped"] or file.get("failed"):
        return "stopped"
    if file.get("by option"):
        return "by option"
    return "refused" if not file.get("other") else "unread"


WORDS = ("exact", "differs", "opened", "by option", "refused", "unread", "stopped")
MEANING = {
    "exact": "opened, and all terms within the tolerance of MuJoCo's or Pinocchio's",
    "differs": "opened, and a term differs",
    "opened": "opened, with nothing to compare",
    "by option": "refused, and opens with the option that the error names",
    "refused": "refused, though MuJoCo or Pinocchio opens it",
    "unread": "refused by graftsim and by the other program",
    "stopped": "hung, crashed, or out of memory",
}


def by_feature(files: Sequence[File], features: Sequence[str], exact: float) -> str:
    """A row for each feature and format: how many files of each word."""
    rows = [("all", files)]
    rows += [(form, [f for f in files if f["format"] == form]) for form in ("urdf", "mjcf")]
    rows += [(name, [f for f in files if name in f["features"]]) for name in features]
    lines = [f"\n{'files that use':<28}{'files':>7}" + "".join(f"{w:>10}" for w in WORDS)]
    for name, own in rows:
        if own:
            count = Counter(status(f, exact) for f in own)
            numbers = "".join(f"{count[w]:>10}" for w in WORDS)
            lines.append(f"{name:<28}{len(own):>7}{numbers}")
    lines += [f"{w}: {MEANING[w]}" for w in WORDS]
    return "\n".join(lines)


def of_written(files: Sequence[File], exact: float) -> str:
    """How many written files each reader opens with the same numbers."""
    written = [f["written"] for f in files if "written" in f]
    lines = [f"\n{len(written)} models written as MJCF, read again by"]
    for reader in ("read", "mujoco", "pinocchio"):
        found = [w[reader] for w in written if reader in w]
        good = [x for x in found if isinstance(x, dict)]
        same = sum(max(x.values()) <= exact for x in good)
        title = {"read": "graftsim"}.get(reader, reader)
        lines.append(f"  {title:<10} {len(found)} tried, {len(good)} compared, {same} the same")
        said = Counter(plain(x) for x in found if isinstance(x, str))
        lines += [f"    {n:>4}  {sentence}" for sentence, n in said.most_common(8)]
    return "\n".join(lines)


def reasons(files: Sequence[File]) -> str:
    """Why files are refused, or stopped, or differ: sentences with their number."""
    said: Counter[str] = Counter()
    example: dict[str, str] = {}
    for f in files:
        text = f.get("refused") or f.get("failed") or f["stopped"]
        if not text:
            continue
        both = "" if not f.get("other") else "(so does the other) "
        key = both + plain(text)
        said[key] += 1
        example.setdefault(key, f["file"])
    lines = ["\nreasons of refusals, with an example"]
    for sentence, n in said.most_common(MOST):
        lines.append(f"{n:>5}  {sentence}\n       {example[sentence]}")
    return "\n".join(lines)


def plain(text: str) -> str:
    """A sentence without the names, numbers and paths of one file."""
    text = re.sub(r"^\S*?\.\w+(:\d+)?: ", "", text)
    text = re.sub(r"'[^']*'|\"[^\"]*\"", "'..'", text)
    text = re.sub(r"/[\w./-]+", "/..", text)
    text = re.sub(r"-?\d+(\.\d+)?(e[+-]?\d+)?", "N", text)
    text = re.split(r"(?<=[a-z.'])[.;:] ", text)[0]
    return text[:150]
