#!/usr/bin/env python3
"""Keeps what cargo compiled of other people's crates, so that the next run need not, in whichever clone it is.

    compiled_dependencies.py save | restore FOLDER

FOLDER is outside of the clone. What is compiled of this repository is never kept.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

TARGET = Path("target")
# A folder this large (bytes) has too much that nobody uses any more.
LARGEST = 20 << 30
# Cargo ends the name of all that belongs to a compiled crate with it.
HASH = re.compile(r"-([0-9a-f]{16})(\.|$)")


def save(folder):
    new = folder.with_name(folder.name + ".new")
    shutil.rmtree(new, ignore_errors=True)
    ours = packages_of_this_repository()
    for fingerprints in TARGET.glob("**/.fingerprint"):
        builds = fingerprints.parent
        named = [path for path in fingerprints.iterdir() if HASH.search(path.name)]
        theirs = {path.name[-16:] for path in named if path.name[:-17] not in ours}
        for path in [*named, *builds.glob("build/*"), *builds.glob("deps/*")]:
            name = HASH.search(path.name)
            if name and name[1] in theirs:
                copy(path, new / path.relative_to(TARGET))
    shutil.rmtree(folder, ignore_errors=True)
    new.rename(folder)


def restore(folder):
    if not folder.is_dir() or any(TARGET.glob("**/.fingerprint")):
        return
    if sum(path.lstat().st_size for path in folder.rglob("*")) > LARGEST:
        shutil.rmtree(folder)
        return
    copy(folder, TARGET)


def packages_of_this_repository():
    listed = subprocess.run(["git", "ls-files", "*Cargo.toml"], check=True, capture_output=True, text=True)
    manifests = [Path(name).read_text() for name in listed.stdout.split()]
    return {name for manifest in manifests for name in re.findall(r'\[package\]\nname = "(.*)"', manifest)}


# With the times, by which cargo knows what is fresh.
def copy(path, to):
    if path.is_dir():
        shutil.copytree(path, to, symlinks=True, dirs_exist_ok=True)
    else:
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, to, follow_symlinks=False)


{"save": save, "restore": restore}[sys.argv[1]](Path(sys.argv[2]))
