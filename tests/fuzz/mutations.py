"""Texts and arrays made wrong: a few changes each, of the kinds that files suffer."""

import re
from xml.etree import ElementTree

from hypothesis import strategies as st

# What stands where a number or a name should.
ODD = (
    "", " ", "nan", "-nan", "inf", "-inf", "-1", "0", "-0.0", "1e400", "-1e400", "1e-320", "1e300",
    "1e30", "text", "1 2", "0 0 0", "1 2 3 4", "1,2,3", "0x10", "1_000", "true", "١", "µ", "a[b]",
    "]", "*", "..", "/", "<", "&", "'", '"', "\N{PILE OF POO}", "\x7f", "x" * 300, "9" * 400,
)  # fmt: skip
_ATTRIBUTE = re.compile(r'\s([\w:]+)="([^"]*)"')


@st.composite
def xml(draw, text):
    """A text of XML after one to three changes."""
    for _ in range(draw(st.integers(1, 3))):
        text = draw(st.sampled_from(CHANGES))(draw, text)
    return text


def _attributes(text):
    return list(_ATTRIBUTE.finditer(text))


def _value(draw, text):
    found = _attributes(text)
    if not found:
        return text
    one = draw(st.sampled_from(found))
    value = draw(st.sampled_from(ODD))
    value = value.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
    return text[: one.start(2)] + value + text[one.end(2) :]


def _one_number(draw, text):
    """One of several numbers in an attribute."""
    found = [m for m in _attributes(text) if re.search(r"\d", m[2])]
    if not found:
        return text
    one = draw(st.sampled_from(found))
    parts = one[2].split(" ")
    parts[draw(st.integers(0, len(parts) - 1))] = draw(st.sampled_from(ODD[2:16]))
    return text[: one.start(2)] + " ".join(parts) + text[one.end(2) :]


def _without(draw, text):
    found = _attributes(text)
    one = draw(st.sampled_from(found)) if found else None
    return text if one is None else text[: one.start()] + text[one.end() :]


def _swapped(draw, text):
    """Two attributes with each other's values."""
    found = _attributes(text)
    if len(found) < 2:
        return text
    a, b = sorted(draw(st.permutations(range(len(found))))[:2])
    a, b = found[a], found[b]
    return text[: a.start(2)] + b[2] + text[a.end(2) : b.start(2)] + a[2] + text[b.end(2) :]


def _tree(draw, text):
    """An element gone, twice, elsewhere, or of another name."""
    try:
        root = ElementTree.fromstring(text)
    except (ElementTree.ParseError, ValueError):
        return text
    places = [(p, c) for p in root.iter() for c in p]
    if not places:
        return text
    parent, child = draw(st.sampled_from(places))
    what = draw(st.sampled_from(["gone", "twice", "moved", "renamed"]))
    if what == "gone":
        parent.remove(child)
    elif what == "twice":
        parent.append(child)
    elif what == "renamed":
        child.tag = draw(st.sampled_from([p.tag for p, _ in places] + [c.tag for _, c in places]))
    else:
        inside = set(child.iter())
        new = draw(st.sampled_from([e for e in root.iter() if e not in inside] or [root]))
        parent.remove(child)
        new.append(child)
    return ElementTree.tostring(root, encoding="unicode")


def _letters(draw, text):
    """Some letters gone, or others there."""
    if not text:
        return text
    at = draw(st.integers(0, len(text) - 1))
    more = draw(st.sampled_from(["", "<", ">", "/", '"', "=", "\0", "<!--", "<![CDATA[", "&x;"]))
    return text[:at] + more + text[at + draw(st.integers(0, 20)) :]


def _cut(draw, text):
    return text[: draw(st.integers(0, len(text)))]


CHANGES = (
    _value,
    _value,
    _one_number,
    _one_number,
    _without,
    _swapped,
    _tree,
    _tree,
    _letters,
    _cut,
)


@st.composite
def flipped(draw, content):
    """Bytes after a few of them were changed, lost or added."""
    content = bytearray(content)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, max(len(content) - 1, 0)))
        what = draw(st.sampled_from(["flip", "lose", "add", "cut"]))
        if what == "flip" and content:
            content[at] ^= 1 << draw(st.integers(0, 7))
        elif what == "lose":
            del content[at : at + draw(st.integers(1, 64))]
        elif what == "add":
            content[at:at] = draw(st.binary(min_size=1, max_size=16))
        elif draw(st.booleans()):
            del content[at:]
    return bytes(content)


@st.composite
def table(draw, text):
    """A text of comma-separated values with cells, rows and headers made wrong."""
    rows = [line.split(",") for line in text.splitlines()]
    for _ in range(draw(st.integers(1, 3))):
        row = draw(st.integers(0, len(rows) - 1)) if rows else None
        if row is None:
            break
        what = draw(st.sampled_from(["cell", "column", "title", "short", "gone", "twice", "moved"]))
        column = draw(st.integers(0, max(len(rows[row]) - 1, 0)))
        if what == "cell" and rows[row]:
            rows[row][column] = draw(st.sampled_from(ODD))
        elif what == "column":
            value = draw(st.sampled_from(ODD))
            for each in rows[1:]:
                each[column : column + 1] = [value]
        elif what == "title" and rows[0]:
            at = column % len(rows[0])
            rows[0][at] = draw(st.sampled_from((*ODD, *rows[0], "joint.q[x]", "time (ms)")))
        elif what == "short":
            del rows[row][column:]
        elif what == "gone":
            del rows[row]
        elif what == "twice":
            rows.insert(row, list(rows[row]))
        else:
            rows.insert(draw(st.integers(0, len(rows) - 1)), rows.pop(row))
    mark = draw(st.sampled_from([",", ",", ",", ";", "\t", " "]))
    return "\n".join(mark.join(r) for r in rows)
