"""Puts the source of ducc0, whose FFT libtenon_fft holds, into a folder, where it is not there yet: its archive from PyPI, by pip.

usage: fetch_ducc.py FOLDER
"""
import hashlib
import pathlib
import subprocess
import sys
import tarfile
import tempfile

NAME = "ducc0-0.42.0"
SHA256 = "4e11c59b53a43355b053aebb2a62ee16eebeed026575f7d216cf09d437ce52ef"


def fetch(folder):
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:  # two builds that configure at once do not meet
        scratch = pathlib.Path(scratch)
        subprocess.run([sys.executable, "-m", "venv", scratch / "environment"], check=True)
        pip = [scratch / "environment/bin/python", "-m", "pip"]
        subprocess.run([*pip, "download", "--quiet", "--no-deps", "--no-binary", "ducc0", "--dest", scratch,
                        NAME.replace("-", "==")], check=True)
        archive = scratch / f"{NAME}.tar.gz"
        if hashlib.sha256(archive.read_bytes()).hexdigest() != SHA256:
            sys.exit(f"fetch_ducc: {archive.name} is not the archive that it was: its SHA-256 is another.")
        with tarfile.open(archive) as files:
            wanted = [file for file in files.getmembers() if file.name.startswith(f"{NAME}/src/ducc0/")]
            files.extractall(scratch, wanted)
        try:
            (scratch / NAME).rename(folder / NAME)
        except OSError:  # the other build has put it there
            if not (folder / NAME).is_dir():
                raise


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1])
    if not (folder / NAME).is_dir():
        fetch(folder)
    print(folder / NAME / "src")
