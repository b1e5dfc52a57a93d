"""A copy of the repository, in which scripts beside this file plant defects."""

import subprocess


def update_copy(root, copy, others=()):
    """Copies what git knows or would add, except for others; what did not change keeps its time, for cargo."""
    command = ["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, check=True, capture_output=True).stdout.decode().split("\0")
    wanted = {name for name in listed if name and (root / name).is_file()} - set(others)
    for path in list(copy.rglob("*")):
        if path.is_file() and str(path.relative_to(copy)) not in wanted.union(others):
            path.unlink()
    for name in wanted:
        write(copy / name, (root / name).read_bytes())
        (copy / name).chmod((root / name).stat().st_mode)


def write(path, content):
    if path.is_file() and path.read_bytes() == content:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
