"""The other projects' tests: where they come from, and which commit. Nothing of them is kept in this repository."""

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
WORK = ROOT / "build-peers"   # ignored: sources, results

# name: (variable that names a checkout to take instead, address, commit)
SOURCES = {
    "jax": ("JAX_SOURCE", "https://github.com/jax-ml/jax", "cec06d116c05f0d52adfceee3d3b730fdbcb0ce5"),
    "array-api": ("ARRAY_API_TESTS", "https://github.com/data-apis/array-api-tests", "55fcc60179efa2680ddd6cd926ddf17b83530e2b"),
}


def commit(name):
    return SOURCES[name][2]


def source(name):
    """The folder of a source, fetched if it is not there."""
    variable, address, revision = SOURCES[name]
    if variable in os.environ:
        return Path(os.environ[variable]).resolve()
    folder = WORK / "sources" / name
    if not (folder / "fetched").exists():
        folder.mkdir(parents=True, exist_ok=True)
        for command in (["init", "--quiet"], ["fetch", "--quiet", "--depth", "1", address, revision],
                        ["checkout", "--quiet", "FETCH_HEAD"], ["submodule", "update", "--quiet", "--init", "--depth", "1"]):
            subprocess.run(["git", *command], cwd=folder, check=True)
        (folder / "fetched").write_text(revision)
    return folder
