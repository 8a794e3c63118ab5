"""XML with line numbers, and readers of attributes whose errors name file, line and remedy."""

from __future__ import annotations

import difflib
import re
import stat
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.parsers import expat

import numpy as np

from graftsim.errors import FileError, suggest

# Above this likeness an unknown name is taken for a misspelling, and refused.
MISSPELT = 0.65
# Bytes of a robot file at most: some 500,000 links.
LARGEST = 100 * 2**20
# Bytes that may stand before the XML declaration, and comments, which may not but do.
_MARKS = (b"\xef\xbb\xbf",)
_INVALID_TOKEN = 4  # of expat
_MUJOCO = re.compile(rb"\A\s*(<\?xml.*?\?>)?(\s|<!--.*?-->)*<mujoco[\s>]", re.S)
_COMMENT = re.compile(rb"<!--.*?-->", re.S)


@dataclass
class Element:
    """An XML element and the line it starts on."""

    tag: str
    line: int
    path: Path
    attributes: dict[str, str] = field(default_factory=dict)
    children: list[Element] = field(default_factory=list)

    def all(self, tag: str) -> list[Element]:
        """Children with that tag, in the order of the file."""
        return [c for c in self.children if c.tag == tag]

    def one(self, tag: str) -> Element | None:
        """The only child with that tag, or None; raises FileError when there are two unlike."""
        found = self.all(tag)
        if len(found) > 1 and any(x.children or x.attributes != found[0].attributes for x in found):
            raise found[1].error(f"a second <{tag}> in <{self.tag}>; only one is allowed.")
        return found[0] if found else None

    @property
    def place(self) -> str:
        """`file:line`, as editors understand it."""
        return f"{self.path}:{self.line}"

    def error(self, message: str) -> FileError:
        """An error to raise, that starts with file and line."""
        return FileError(f"{self.place}: {message}")

    def text(self, name: str) -> str:
        """A required attribute; raises FileError when it is missing or empty."""
        value = self.attributes.get(name, "").strip()
        if not value:
            raise self.error(f'<{self.tag}> needs the attribute {name}="...".')
        return value

    def number(self, name: str, default: float | None = None) -> float:
        """An attribute as a double; raises FileError when missing (no default) or not a number."""
        return float(self.numbers(name, 1, None if default is None else [default])[0])

    def numbers(self, name: str, n: int, default: Iterable[float] | None = None) -> np.ndarray:
        """An attribute as n doubles, [n]; raises FileError like `number`."""
        if name not in self.attributes and default is not None:
            return np.array(list(default), float)
        raw = self.text(name)
        if "${" in raw or "$(" in raw:
            raise self.error(
                f'<{self.tag}> has {name}="{raw}", a xacro expression. Expand the file first: '
                f"xacro {self.path.name} > robot.urdf"
            )
        try:
            values = np.array([float(word) for word in raw.split()])
        except ValueError:
            values = np.array([])
        if values.shape != (n,) or np.any(np.isnan(values)):
            what = "a number" if n == 1 else f"{n} numbers separated by spaces"
            raise self.error(f'<{self.tag}> has {name}="{raw}"; {what} is expected.')
        return values

    def check_attributes(self, known: Iterable[str], notes: Notes) -> None:
        """Refuse an attribute that looks like a misspelt known one; note any other unknown one."""
        known = list(known)
        for name, value in self.attributes.items():
            if name in known:
                continue
            # What it resembles is there already: it is a word of its own.
            if misspelt(name, [k for k in known if k not in self.attributes]):
                raise self.error(
                    f'<{self.tag}> has the unknown attribute {name}="{value}". '
                    f"{suggest(name, known)}"
                )
            notes.add(f'line {self.line}: attribute {name}="{value}" of <{self.tag}> is not used.')


class Notes:
    """Sentences for `model.notes`; what happens to many elements alike is said once."""

    def __init__(self) -> None:
        self._sentences: list[str] = []
        self._groups: dict[tuple[str, str], list[str]] = {}
        self._moving: set[Any] = set()
        self._wrong: dict[Any, str] = {}

    def add(self, sentence: str, *, moves: bool = False, wrong: str = "") -> None:
        """One sentence on its own.

        moves: what it says changes the motion. wrong: "error" or "warning", if a number is.
        """
        self._sentences.append(sentence)
        self._mark(sentence, moves, wrong)

    def group(
        self, sentence: str, noun: str, item: str | int, *, moves: bool = False, wrong: str = ""
    ) -> None:
        """One more `noun item` of which `sentence` holds; `moves` and `wrong` as in `add`."""
        self._groups.setdefault((noun, sentence), []).append(str(item))
        self._mark((noun, sentence), moves, wrong)

    def _mark(self, key: Any, moves: bool, wrong: str) -> None:
        if moves:
            self._moving.add(key)
        if wrong:
            self._wrong[key] = wrong

    def faults(self) -> list[tuple[str, str]]:
        """Level and sentence of what is wrong in the file and was mended or passed over."""
        return [
            (level, key if isinstance(key, str) else self._grouped(key))
            for key, level in self._wrong.items()
        ]

    def sentences(self) -> list[str]:
        """Everything, the grouped ones as `nouns a, b, c: sentence`."""
        return [*self._sentences, *map(self._grouped, self._groups)]

    def caveats(self) -> list[str]:
        """The sentences that say what changes the motion."""
        alone = [s for s in self._sentences if s in self._moving]
        return [*alone, *(self._grouped(k) for k in self._groups if k in self._moving)]

    def _grouped(self, key: tuple[str, str]) -> str:
        (noun, sentence), items = key, self._groups[key]
        return f"{noun}{'s' if len(items) > 1 else ''} {', '.join(items)}: {sentence}"


def misspelt(name: str, known: Iterable[str]) -> bool:
    """Whether an unknown name is so like a known one that it must be a misspelling."""
    return bool(difflib.get_close_matches(name, list(known), n=1, cutoff=MISSPELT))


def parse(path: Path) -> Element:
    """Root element of a file.

    Raises FileError: the file is missing, empty, not XML (with the line and column).
    """
    try:
        status = path.stat()
        if not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
            raise FileError(f"{path}: is no regular file; a robot file is expected.")
        if status.st_size > LARGEST:
            raise FileError(
                f"{path}: has {status.st_size / 2**20:.0f} MiB; a robot file of at most "
                f"{LARGEST // 2**20} MiB is expected (meshes are files of their own)."
            )
        data = path.read_bytes()
    except FileNotFoundError:
        near = sorted(p.name for p in path.parent.glob("*")) if path.parent.is_dir() else []
        where = suggest(path.name, near) if near else f"There is no folder {path.parent} either."
        raise FileError(f"{path}: no such file. {where}") from None
    except (OSError, ValueError) as e:  # ValueError: a name that no system has
        said = getattr(e, "strerror", None) or e
        raise FileError(f"{path}: cannot be read: {said}.") from e
    return parse_bytes(data, path)


def parse_bytes(data: bytes, path: Path) -> Element:
    """Root element of a text; `path` is what messages call it. Raises FileError as `parse`."""
    if not data.strip():
        raise FileError(f"{path}: the file is empty; the XML of a robot is expected.")
    root = Element("", 0, path)
    stack = [root]
    parser = expat.ParserCreate()

    def start(tag: str, attributes: dict[str, str]) -> None:
        element = Element(tag, parser.CurrentLineNumber, path, attributes)
        stack[-1].children.append(element)
        stack.append(element)

    parser.StartElementHandler = start
    parser.EndElementHandler = lambda tag: stack.pop()
    try:
        parser.Parse(_from_declaration(data), True)
    except expat.ExpatError as e:
        if e.code == _INVALID_TOKEN and (opening := _MUJOCO.search(data)):
            # MuJoCo reads XML that is not quite XML, and reads the file itself.
            return Element("mujoco", data.count(b"\n", 0, opening.start()) + 1, path)
        reason = expat.ErrorString(e.code)
        hint = f" <{stack[-1].tag}> of line {stack[-1].line} is still open." if stack[1:] else ""
        raise FileError(
            f"{path}:{e.lineno}: not well-formed XML ({reason}, column {e.offset + 1}).{hint}"
        ) from None
    # An encoding that Python does not know, or that is no encoding of text, or not of single bytes.
    except (LookupError, ValueError, TypeError) as e:
        raise FileError(
            f"{path}:1: cannot be decoded ({e}); save it as UTF-8, with that in its first line."
        ) from None
    return root.children[0]


def _from_declaration(data: bytes) -> bytes:
    """Without text before the XML declaration, which XML forbids; lines keep their numbers."""
    before, declaration, rest = data.partition(b"<?xml")
    if not declaration or not before or before in _MARKS or b"<" in _COMMENT.sub(b"", before):
        return data
    _, end, rest = rest.partition(b"?>")
    return b"\n" * before.count(b"\n") + rest if end else data
