"""Makes docs/reference/python-api.md from the docstrings of the Python package.

griffe reads them without running the package. ``--check`` only says whether the page is current.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import griffe

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "reference" / "python-api.md"
HEAD = """\
<!-- Made by `make docs` from the docstrings of python/l4s. -->

# The Python API

Names of the modules `l4s` and `l4s.figures`. [In Python](../guides/python.md) is the guide.
"""
ROLE = re.compile(r":(?:class|func|meth|attr|mod|data):`~?([^`]+)`")


def markdown(text: str) -> str:
    """The text of a docstring, whose roles and literals are those of reStructuredText."""
    text = ROLE.sub(lambda role: f"`{role[1].removeprefix('l4s.')}`", text)
    text = re.sub(r"``([^`]+)``", r"`\1`", text)
    text = re.sub(r"docs/reference/([a-z-]+)\.md", r"[\1](\1.md)", text)
    return re.sub(r"docs/([a-z]+)/([a-z-]+)\.md", r"[\2](../\1/\2.md)", text)


def docstring(thing: griffe.Object | griffe.Alias) -> str:
    """Its docstring: prose, parameters as a list, examples as code."""
    if thing.docstring is None:
        return ""
    parts = []
    for section in thing.docstring.parse("google"):
        match section.kind:
            case griffe.DocstringSectionKind.text:
                parts.append(examples(section.value))
            case griffe.DocstringSectionKind.parameters:
                items = (
                    f"- `{p.name}`: {markdown(' '.join(p.description.split()))}"
                    for p in section.value
                )
                parts.append("\n".join(items))
            case griffe.DocstringSectionKind.returns | griffe.DocstringSectionKind.yields:
                parts.append("Returns " + markdown(" ".join(section.value[0].description.split())))
            case griffe.DocstringSectionKind.raises:
                parts += [
                    f"Raises `{p.annotation}`: {markdown(p.description)}" for p in section.value
                ]
            case griffe.DocstringSectionKind.examples:
                for kind, text in section.value:
                    is_code = kind is griffe.DocstringSectionKind.examples
                    parts.append(f"```pycon\n{text}\n```" if is_code else markdown(text))
            case other:
                raise SystemExit(
                    f"{thing.path}: a section of docstrings that has no form here: {other}"
                )
    return "\n\n".join(parts) + "\n"


def examples(text: str) -> str:
    """Prose with sessions of the interpreter in it."""
    blocks = []
    for block in text.strip().split("\n\n"):
        session = block.lstrip().startswith(">>>")
        blocks.append(f"```pycon\n{block}\n```" if session else markdown(block))
    return "\n\n".join(blocks)


def signature(function: griffe.Function, name: str) -> str:
    """As it is written, but ``self``, on as few lines as fit."""
    shown, star = [], False
    for parameter in function.parameters:
        kind = parameter.kind
        if parameter.name in ("self", "cls"):
            continue
        if kind is griffe.ParameterKind.keyword_only and not star:
            shown.append("*")
        star = star or kind in (
            griffe.ParameterKind.keyword_only,
            griffe.ParameterKind.var_positional,
        )
        prefix = {
            griffe.ParameterKind.var_positional: "*",
            griffe.ParameterKind.var_keyword: "**",
        }.get(kind, "")
        text = f"{prefix}{parameter.name}"
        if parameter.annotation is not None:
            text += f": {parameter.annotation}"
        if parameter.default is not None and not prefix:
            text += (
                f" = {parameter.default}"
                if parameter.annotation is not None
                else f"={parameter.default}"
            )
        shown.append(text)
        if kind is griffe.ParameterKind.positional_only:
            last = [
                p for p in function.parameters if p.kind is griffe.ParameterKind.positional_only
            ][-1]
            shown += ["/"] * (parameter.name == last.name)
    returns = f" -> {function.returns}" if function.returns is not None else ""
    line = f"{name}({', '.join(shown)}){returns}"
    if len(line) > 100:
        line = f"{name}(\n    " + ",\n    ".join(shown) + f",\n){returns}"
    return f"```python\n{line}\n```\n"


def attribute(thing: griffe.Object | griffe.Alias) -> str:
    """The row of an attribute or property."""
    kind = f"`{thing.annotation}`".replace("|", "\\|") if thing.annotation is not None else ""
    text = " ".join(docstring(thing).split()).replace("|", "\\|")
    return f"| `{thing.name}` | {kind} | {text} |\n"


def method(thing: griffe.Object | griffe.Alias, owner: str) -> str:
    """The section of a method."""
    return f"\n### `{owner}.{thing.name}()`\n\n{signature(thing, thing.name)}\n{docstring(thing)}"


def entry(name: str, thing: griffe.Object | griffe.Alias) -> str:
    """A public name with all that is public of it."""
    while isinstance(thing, griffe.Alias):
        thing = thing.final_target
    text = f"\n## `{name}`\n\n"
    if thing.is_function:
        return text + f"{signature(thing, name)}\n{docstring(thing)}"
    if thing.is_attribute:
        return text + docstring(thing)
    init = thing.members.get("__init__")
    if init is not None and init.is_function and len(init.parameters) > 1:
        text += f"{signature(init, name)}\n"
    text += docstring(thing)
    documented = [
        m for m in thing.members.values() if not m.name.startswith("_") and m.docstring is not None
    ]
    rows = [attribute(m) for m in documented if m.is_attribute]
    if rows:
        text += "\n| attribute | type | meaning |\n|---|---|---|\n" + "".join(rows)
    return text + "".join(method(m, name) for m in documented if m.is_function)


def page() -> str:
    """The whole page."""
    package = griffe.load("l4s", search_paths=[ROOT / "python"], docstring_parser="google")
    text = HEAD
    for prefix, module in (("", package), ("figures.", package["figures"])):
        for name in module.exports or []:
            name = str(name)
            if not name.startswith("__"):
                text += entry(prefix + name, module[name])
    return re.sub(r"\n{3,}", "\n\n", text).rstrip() + "\n"


if sys.argv[1:] == ["--check"]:
    if PAGE.read_text(encoding="utf-8") != page():
        sys.exit(f"{PAGE.relative_to(ROOT)} is not current: run `make docs`")
else:
    PAGE.write_text(page(), encoding="utf-8")
