#!/usr/bin/env python3
"""Packs the crates for crates.io and builds each from its package, without a network.

A crate of the workspace is either for crates.io, with everything that crates.io and a reader ask
for, or has `publish = false`.
"""

import json
import subprocess
import sys
import tarfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FIELDS = ["description", "license", "repository", "readme", "rust_version", "keywords", "categories"]
FILES = ["Cargo.toml", "README.md", "LICENSE-MIT", "LICENSE-APACHE", "src/lib.rs"]


def problems(package: dict, public: set[str]) -> list[str]:
    """The reasons why a crate cannot be published."""
    found = [f"no {field}" for field in FIELDS if not package[field]]
    for dependency in package["dependencies"]:
        name, version = dependency["name"], dependency["req"]
        # Cargo leaves test dependencies without a version out of the package.
        if dependency.get("path") and (dependency["kind"] != "dev" or version != "*"):
            if name not in public:
                found.append(f"depends on {name}, which has `publish = false`")
            if version == "*":
                found.append(f"depends on {name} without a version")
    return found


def missing(package: dict, target: Path) -> list[str]:
    """The files that its package lacks or holds as a link."""
    name = f"{package['name']}-{package['version']}"
    with tarfile.open(target / "package" / f"{name}.crate") as archive:
        files = {member.name for member in archive if member.isfile()}
    return [f"no {file} in its package" for file in FILES if f"{name}/{file}" not in files]


def main() -> int:
    metadata = json.loads(
        subprocess.check_output(
            ["cargo", "metadata", "--format-version=1", "--no-deps", "--locked", "--offline"], cwd=ROOT
        )
    )
    packages = [package for package in metadata["packages"] if package["publish"] != []]
    public = {package["name"] for package in packages}
    errors = [f"{package['name']}: {error}" for package in packages for error in problems(package, public)]
    if not errors:
        chosen = [argument for name in sorted(public) for argument in ("--package", name)]
        command = ["cargo", "package", "--locked", "--offline", "--quiet", *chosen, *sys.argv[1:]]
        if code := subprocess.run(command, cwd=ROOT).returncode:
            return code
        target = Path(metadata["target_directory"])
        errors = [f"{package['name']}: {error}" for package in packages for error in missing(package, target)]
    print("\n".join(errors or sorted(public)))
    return int(bool(errors))


if __name__ == "__main__":
    sys.exit(main())
