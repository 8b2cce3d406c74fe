#!/usr/bin/env python3
"""Count the key words of RFC 2119 in each section of a document.

    scripts/keywords.py TEXT

TEXT is an RFC or a draft as the RFC Editor publishes it (.txt), or the source of a draft (.xml, or
.md of kramdown-rfc). Prints the table [sections] of a file in conformance/: every section with its
key words in the order of the text. The paragraph that only defines the key words does not count.
"""

import re
import sys
import xml.etree.ElementTree as ElementTree

KEYWORDS = re.compile(
    r"\b(MUST NOT|MUST|SHALL NOT|SHALL|SHOULD NOT|SHOULD|NOT RECOMMENDED|RECOMMENDED|REQUIRED"
    r"|MAY|OPTIONAL)\b"
)
DEFINITION = re.compile(r"\bThe key ?words\b.*?\b(?:RFC ?2119|BCP ?14)\b", re.DOTALL)
HEADING = re.compile(r"(?:Appendix )?([0-9]+(?:\.[0-9]+)*|[A-Z](?:\.[0-9]+)*)\.  ?\S")


def of_text(text: str) -> list[tuple[str, str]]:
    sections: list[tuple[str, list[str]]] = []
    for line in text.replace("\f", "\n").split("\n"):
        if re.match(r"RFC \d+ .*\d{4}$|Internet-Draft .*\d{4}$|.*\[Page \d+\]$", line):
            continue  # head and foot of a page
        heading = HEADING.match(line)
        if heading and " . . " not in line and "..." not in line:
            sections.append((heading[1], []))
        elif sections:
            sections[-1][1].append(line)
    return [(number, "\n".join(lines)) for number, lines in sections]


def of_xml(text: str) -> list[tuple[str, str]]:
    text = re.sub(r"<\?.*?\?>|<!--.*?-->", "", text, flags=re.DOTALL)
    text = re.sub(r"<!DOCTYPE[^\[>]*(\[.*?\]\s*)?>", "", text, flags=re.DOTALL)
    text = re.sub(r"&(?!amp;|lt;|gt;|quot;|apos;|#)\w+;", " ", text)
    root = ElementTree.fromstring(re.sub(r"<xi:include[^>]*/>", "", text))
    sections = []

    def own_text(element: ElementTree.Element) -> str:
        text = element.text or ""
        for child in element:
            if child.tag not in ("section", "name"):
                text += own_text(child)
            text += child.tail or ""
        return text + " "

    def walk(section: ElementTree.Element, number: str) -> None:
        sections.append((number, own_text(section)))
        for i, child in enumerate(section.findall("section"), 1):
            walk(child, f"{number}.{i}")

    for i, section in enumerate(root.findall("middle/section"), 1):
        walk(section, str(i))
    back = [s for s in root.findall("back/section") if s.get("numbered") not in ("no", "false")]
    for i, section in enumerate(back):
        walk(section, chr(ord("A") + i))
    return sections


def of_markdown(text: str) -> list[tuple[str, str]]:
    middle, _, back = text.partition("--- middle")[2].partition("--- back")
    sections: list[tuple[str, list[str]]] = []
    for part, name in ((middle, str), (back, lambda n: chr(ord("@") + n))):
        counts: list[int] = []
        for line in part.split("\n"):
            if heading := re.match(r"(#+) (?!.*numbered=\"false\")", line):
                depth = len(heading[1])
                counts = (counts + [0] * depth)[:depth]
                counts[-1] += 1
                number = ".".join([name(counts[0]), *map(str, counts[1:])])
                sections.append((number, []))
            elif sections:
                sections[-1][1].append(line)
    return [(number, "\n".join(lines)) for number, lines in sections]


def main() -> None:
    path = sys.argv[1]
    with open(path, encoding="utf-8", errors="replace") as file:
        text = file.read()
    read = {"xml": of_xml, "md": of_markdown}.get(path.rsplit(".", 1)[-1], of_text)
    print("[sections]")
    for number, body in read(text):
        words = KEYWORDS.findall(DEFINITION.sub("", " ".join(body.split())))
        print(f'"{number}" = "{", ".join(words)}"')


if __name__ == "__main__":
    main()
