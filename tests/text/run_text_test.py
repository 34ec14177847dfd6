#!/usr/bin/env python3
"""Runs the commands of a text test: every line `// RUN: command` of the file, in order, until one fails.

    run_text_test.py --tool TENON --filecheck FILECHECK FILE

In a command %s is the file, %t a path for a temporary file, tenon the tool, and FileCheck compares what is piped into it
with the file's CHECK lines.
"""
import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tool", required=True)
    parser.add_argument("--filecheck", required=True)
    parser.add_argument("file", type=Path)
    options = parser.parse_args()
    os.environ["TENON_CACHE"] = "off"
    lines = options.file.read_text().splitlines()
    commands = [line.split("RUN:", 1)[1].strip() for line in lines if line.startswith("// RUN:")]
    if not commands:
        sys.exit(f"{options.file}: no line starts with // RUN:")
    functions = f'tenon() {{ "{options.tool}" "$@"; }}; FileCheck() {{ "{options.filecheck}" "$@"; }}; set -o pipefail; '
    with tempfile.TemporaryDirectory() as folder:
        for command in commands:
            text = command.replace("%s", f'"{options.file}"').replace("%t", f'"{folder}/t"')
            done = subprocess.run(["bash", "-c", functions + text], capture_output=True, text=True, timeout=120)
            if done.returncode != 0:
                sys.exit(f"{options.file}: {command}\n{done.stdout}{done.stderr}")


if __name__ == "__main__":
    main()
