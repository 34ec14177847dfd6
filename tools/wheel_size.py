"""What a wheel weighs, part by part, compressed and installed. usage: wheel_size.py WHEEL

Exits with 1 where it is more than a wheel may be, compressed."""

import collections
import sys
import zipfile

MOST = 60e6  # bytes, compressed


def parts(wheel):
    """{part: [bytes compressed, bytes installed]}: each library, and all else together."""
    sizes = collections.defaultdict(lambda: [0, 0])
    for file in zipfile.ZipFile(wheel).infolist():
        name = file.filename.rsplit("/", 1)[-1]
        part = name.split(".", 1)[0] if ".so" in name else "Python, stubs, licences"
        sizes[part][0] += file.compress_size
        sizes[part][1] += file.file_size
    return sizes


def main(wheel):
    sizes = parts(wheel)
    total = [sum(size) for size in zip(*sizes.values())]
    print("| part | compressed, MB | installed, MB |\n|---|---|---|")
    for part, size in [*sorted(sizes.items(), key=lambda item: -item[1][0]), ("together", total)]:
        print(f"| {part} | {size[0] / 1e6:.1f} | {size[1] / 1e6:.1f} |")
    if total[0] > MOST:
        sys.exit(f"{wheel} is larger than {MOST / 1e6:.0f} MB.")


if __name__ == "__main__":
    main(sys.argv[1])
