"""Random programs beside JAX: each is run by both libraries, in processes of their own, and shrunk where they differ.

    python random_programs.py run [--seed 0] [--count 1000] [--size 8] [--minutes 5]
    python random_programs.py show SEED
    python random_programs.py shrink SEED CHECK

A difference is run again in float64: one that goes away is rounding. Programs are by seed, so that a difference can be shown again.
"""

import argparse
import collections
import json
import os
import pickle
import select
import struct
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent / "programs"
sys.path.insert(0, str(HERE))
import expectations
from comparison import compare
from generator import generate
from program import dce, has_half, inputs, to_source
from shrinking import minimise
from sources import WORK

RESULTS = WORK / "results" / "programs.jsonl"
SECONDS_A_PROGRAM = 90


class Peer:
    """A process that runs programs with one library; begun again where it ended."""

    def __init__(self, library, python):
        self.library, self.python, self.process = library, python, None
        WORK.mkdir(parents=True, exist_ok=True)
        self.said = WORK / f"programs.{library}.{os.getpid()}.err"

    def start(self):
        self.err = self.said.open("wb")
        self.process = subprocess.Popen([self.python, str(HERE / "worker.py"), self.library], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=self.err, preexec_fn=lambda: os.nice(10))

    def stop(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None
        self.said.unlink(missing_ok=True)

    def ask(self, request):
        """The results by check, or what happened to the process."""
        if self.process is None or self.process.poll() is not None:
            self.start()
        self.err.seek(0)
        self.err.truncate()
        data = pickle.dumps(request)
        try:
            self.process.stdin.write(struct.pack("<q", len(data)) + data)
            self.process.stdin.flush()
            head = self.read(8)
            if head is None:
                return self.ended("hangs" if self.process.poll() is None else "crashes")
            return pickle.loads(self.read(struct.unpack("<q", head)[0]))
        except (BrokenPipeError, TypeError):
            return self.ended("crashes")

    def ended(self, how):
        code = self.process.poll()
        said = self.said.read_bytes()[-600:].decode(errors="replace")
        self.process.kill()
        self.process.wait()
        self.process = None
        return {"process": ("err", f"{how} code={code} {said}")}

    def read(self, count):
        """That many bytes; None where they do not come in time."""
        got, end, descriptor = b"", time.time() + SECONDS_A_PROGRAM, self.process.stdout.fileno()
        while len(got) < count:
            left = end - time.time()
            if left <= 0 or self.process.poll() is not None:
                return None
            if select.select([descriptor], [], [], min(left, 1.0))[0]:
                more = os.read(descriptor, count - len(got))
                if not more:
                    return None
                got += more
        return got


class Peers:
    def __init__(self, python):
        self.ours, self.theirs = Peer("tenon", python), Peer("jax", python)

    def differences(self, g, block, seed, checks=None, x64=False):
        """check: what differs."""
        request = dict(source=to_source(block), inputs=inputs(block, seed), kinds=[dtype for _, (dtype, _) in block.params],
                       seed=seed, has_while=g.has_while, has_cvjp=g.has_cvjp, x64=x64, checks=checks)
        return compare(self.ours.ask(request), self.theirs.ask(request), x64, has_half(block))

    def differences_in_64_bits(self, g, block, seed, checks):
        wanted = {*checks, *map(plain, checks)} | ({"grad"} if "gckpt" in map(plain, checks) else set())
        wanted |= {"hess"} if "rev2" in map(plain, checks) else set()
        found = self.differences(g, block, seed, sorted(wanted), x64=True)
        return {check: what for check, what in found.items() if check in checks or check == "process"}

    def stop(self):
        self.ours.stop()
        self.theirs.stop()


def plain(check):
    return check.removeprefix("jit_")


def run(python, jobs, only, seed=0, count=1000, size=8, minutes=0.0):
    """Runs programs; a line of JSON for each that differs."""
    peers, start = Peers(python), time.time()
    counts = collections.Counter()
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    with RESULTS.open("a") as log:
        for at in range(seed, seed + count):
            if minutes and time.time() - start > 60 * minutes:
                break
            g, block = generate(at, size, 0.2)
            dce(block)
            found = peers.differences(g, block, at)
            still = found if not found or "process" in found else peers.differences_in_64_bits(g, block, at, list(found))
            verdict = "agree" if not found else "differ" if still else "rounding"
            counts[verdict] += 1
            line = dict(seed=at, size=size, verdict=verdict, differences=still)
            log.write(json.dumps(line) + "\n")
            log.flush()
            if verdict == "differ":
                print(f"seed {at}: {still}", flush=True)
    peers.stop()
    print(f"programs: {dict(counts)}", flush=True)


def shrink(python, seed, check, size, seconds):
    """Prints a small program that differs in the same check in the same way."""
    peers = Peers(python)
    g, block = generate(seed, size, 0.2)
    dce(block)
    checks = sorted({check, plain(check)} | ({"grad"} if plain(check) == "gckpt" else set()) | ({"hess"} if plain(check) == "rev2" else set()))

    def how(candidate, x64):
        found = peers.differences(g, candidate, seed, checks, x64)
        return found.get(check) or found.get("process")
    x64 = how(block, True) is not None
    first = how(block, x64)
    if first is None:
        print("the libraries agree now")
        return

    def fails_alike(candidate):
        now = how(candidate, x64)
        raises = "raises" in first
        return now is not None and ("raises" in now) == raises and (not raises or now[:40] == first[:40])
    block = minimise(block, fails_alike, seconds)
    print(f"# seed {seed}, {check}, in {'64' if x64 else '32'} bits: {how(block, x64)}")
    for (name, kind), value in zip(block.params, inputs(block, seed)):
        print(f"# {name}: {kind} = {value.tolist()}")
    print(to_source(block))
    peers.stop()


def section():
    """The section of the document: the last verdict of each seed and size."""
    last = {}
    for line in map(json.loads, RESULTS.read_text().splitlines()):
        last[line["seed"], line["size"]] = line
    counts = collections.Counter(line["verdict"] for line in last.values())
    reasons, bad = collections.Counter(), []
    for line in last.values():
        if line["verdict"] == "differ":
            what = "; ".join(f"{check}: {how}" for check, how in line["differences"].items())
            known, reason = expectations.match("programs", f"seed {line['seed']} {what}")
            reasons[reason] += known is not None
            if known is None:
                bad.append(f"- seed {line['seed']}, size {line['size']}: {what[:200]}")
    yield f"{len(last)} random programs (`tests/peers/programs`), each its value, gradient, jvp, vmap, gradients of vmap and vmap of gradients,"
    yield "second derivatives and with checkpoints, eagerly and compiled, beside JAX:"
    yield f"{counts['agree']} agree, {counts['rounding']} differ by rounding (no more in 64 bits), {counts['differ']} differ."
    yield ""
    yield from (f"- {n} {reason}" for reason, n in reasons.most_common() if reason)
    yield from bad


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["run", "show", "shrink"])
    parser.add_argument("which", nargs="?", type=int)
    parser.add_argument("check", nargs="?", default="jit_value")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--size", type=int, default=8)
    parser.add_argument("--minutes", type=float, default=0)
    a = parser.parse_args()
    if a.command == "run":
        run(sys.executable, 1, [], a.seed, a.count, a.size, a.minutes)
    elif a.command == "show":
        _, block = generate(a.which, a.size, 0.2)
        dce(block)
        print(to_source(block))
    else:
        shrink(sys.executable, a.which, a.check, a.size, 60 * (a.minutes or 2))


if __name__ == "__main__":
    main()
