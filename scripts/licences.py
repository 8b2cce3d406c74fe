#!/usr/bin/env python3
"""Prints the licences of all that is linked into the static command l4s, with their texts.

licences.py MUSL: the file of musl's copyright.
licences.py --sbom: the same libraries as a bill of materials instead (CycloneDX 1.6, JSON), by the
package cyclonedx-python-lib.
"""

import json
import os
import re
import subprocess
import sys
import tomllib
from collections import defaultdict
from datetime import datetime, timezone
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

ROOT = Path(__file__).parents[1]
TEXTS = re.compile(r"(LICEN[CS]E|COPYING|COPYRIGHT|NOTICE)", re.IGNORECASE)
# Libraries inside of packages, whose texts are deeper.
INSIDE = {"rquickjs-sys": ["quickjs/LICENSE"]}
# The scripts, styles and the font in the pages that l4s serves and writes.
PAGES = ROOT / "crates/report/assets/THIRD-PARTY.txt"


def metadata():
    """The packages by cargo, for the released target."""
    command = ["cargo", "metadata", "--locked", "--format-version=1"]
    command += ["--filter-platform=x86_64-unknown-linux-musl"]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)


def linked(data):
    """The packages that the command links with, not those that build it or test it."""
    nodes = {node["id"]: node for node in data["resolve"]["nodes"]}
    packages = {package["id"]: package for package in data["packages"]}
    todo = [id for id, package in packages.items() if package["name"] == "l4s"]
    seen = set()
    while todo:
        id = todo.pop()
        if id in seen:
            continue
        seen.add(id)
        deps = nodes[id]["deps"]
        needs = [d["pkg"] for d in deps if any(kind["kind"] is None for kind in d["dep_kinds"])]
        packages[id]["needs"] = needs
        todo += needs
    return sorted((packages[id] for id in seen), key=lambda p: (p["name"], p["version"]))


def c_libraries(packages):
    """Libraries in C: name, version, licence, and the files that hold its text."""
    (libbpf,) = (p for p in packages if p["name"] == "libbpf-sys")
    root = Path(libbpf["manifest_path"]).parent
    version = re.search(r"AC_INIT\(\[elfutils\],\[([^]]+)\]", (root / "elfutils/configure.ac").read_text())
    zlib = re.search(r'ZLIB_VERSION "([^"]+)"', (root / "zlib/zlib.h").read_text())
    elf = [root / "elfutils" / name for name in ("COPYING", "COPYING-LGPLV3", "COPYING-GPLV2")]
    return [
        ("libbpf", libbpf["version"].split("+v")[-1], "BSD-2-Clause", [root / "libbpf/LICENSE.BSD-2-Clause"]),
        ("elfutils", version[1], "LGPL-3.0-or-later OR GPL-2.0-or-later", elf),
        ("zlib", zlib[1], "Zlib", [root / "zlib/LICENSE"]),
    ]


def sbom(packages, libraries):
    """The bill of materials, which is the same for the same Cargo.lock and date."""
    from cyclonedx.model import HashAlgorithm, HashType
    from cyclonedx.model.bom import Bom
    from cyclonedx.model.component import Component, ComponentType
    from cyclonedx.model.license import LicenseExpression
    from cyclonedx.output import make_outputter
    from cyclonedx.schema import OutputFormat, SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator
    from packageurl import PackageURL

    def component(kind, purl_type, name, version, licence, hashes=()):
        purl = PackageURL(purl_type, name=name, version=version)
        licences = [LicenseExpression(licence.replace("/", " OR "))] if licence else []
        return Component(
            type=kind, name=name, version=version, purl=purl, bom_ref=str(purl), licenses=licences, hashes=hashes
        )

    lock = tomllib.loads((ROOT / "Cargo.lock").read_text())
    sums = {(p["name"], p["version"]): p.get("checksum") for p in lock["package"]}
    known = {}
    for package in packages:
        name, version = package["name"], package["version"]
        checksum = sums[name, version]
        hashes = [HashType(alg=HashAlgorithm.SHA_256, content=checksum)] if checksum else []
        kind = ComponentType.APPLICATION if name == "l4s" else ComponentType.LIBRARY
        known[package["id"]] = component(kind, "cargo", name, version, package["license"], hashes)
    (program,) = (c for c in known.values() if c.name == "l4s")
    bom = Bom(components=[c for c in known.values() if c is not program])
    bom.metadata.component = program
    bom.metadata.timestamp = datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), timezone.utc)
    (libbpf,) = (c for c in known.values() if c.name == "libbpf-sys")
    in_c = [component(ComponentType.LIBRARY, "generic", *library[:3]) for library in libraries]
    bom.components.update(in_c)
    for package in packages:
        bom.register_dependency(known[package["id"]], [known[id] for id in package["needs"]])
    bom.register_dependency(libbpf, in_c)
    parts = sorted(c.bom_ref.value for c in bom.components)
    bom.serial_number = uuid5(NAMESPACE_URL, " ".join([program.bom_ref.value, *parts]))
    text = make_outputter(bom, OutputFormat.JSON, SchemaVersion.V1_6).output_as_string(indent=1)
    if error := JsonStrictValidator(SchemaVersion.V1_6).validate_str(text):
        sys.exit(f"the bill of materials is not valid: {error}")
    return text


def main():
    packages = linked(metadata())
    if sys.argv[1:] == ["--sbom"]:
        print(sbom(packages, c_libraries(packages)))
        return
    rows, texts = [], defaultdict(list)
    for package in packages:
        if package["source"] is None:
            continue
        name = f"{package['name']} {package['version']}"
        rows.append((name, package["license"] or "see its text"))
        folder = Path(package["manifest_path"]).parent
        files = [file for file in sorted(folder.iterdir()) if file.is_file() and TEXTS.match(file.name)]
        files += [folder / inside for inside in INSIDE.get(package["name"], [])]
        for file in files:
            texts[file.read_text(errors="replace").strip()].append(name)
        if not files:
            authors = ", ".join(package["authors"]) or "its authors"
            texts[f"Copyright {authors}, {package['repository']}, {package['license']}: no text is with it."].append(name)
    rows.append(("Rust's standard library", "MIT OR Apache-2.0"))
    libraries = [*c_libraries(packages), ("musl", "", "MIT", [Path(sys.argv[1])])]
    for name, version, licence, files in libraries:
        name = f"{name} {version}".strip()
        rows.append((name, licence))
        for file in files:
            texts[file.read_text(errors="replace").strip()].append(name)
    print("The command l4s is linked with these libraries:\n")
    for name, licence in rows:
        print(f"  {name:40} {licence}")
    for text, names in texts.items():
        print(f"\n{'=' * 72}\n{', '.join(names)}\n\n{text}")
    print(f"\n{'=' * 72}\nPages of l4s\n\n{PAGES.read_text().strip()}")


main()
