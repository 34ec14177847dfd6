"""Runs the cells of JAX's documents and examples with Tenon in JAX's place (python -m tenon.as_jax) and with JAX, and compares."""

import collections
import os
import pickle
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import expectations
from sources import WORK, commit, source

HERE = Path(__file__).parent / "documents"
sys.path.insert(0, str(HERE))
import differences
from cells import cells_of

RESULTS = WORK / "results" / "documents"
# Whole documents about accelerators, several devices or JAX's own making.
SKIPPED = re.compile(
    r"pallas|cute|colocated|shard|ffi|autodidax|custom_interpreters|hijax|multi_process|multiprocess|fault|distributed|xla_flags|"
    r"profil|migrate_pmap|persistent|compilation-cache|layout|host-offloading|parallel|changelog|export|jaxpr\.md|jax-primitives|"
    r"jep/|transfer|data-loading|training-cookbook|_tutorials|gpu|onnx|internals|xla_metadata|memory_prof|placement|slow")
# Cells about them.
OUT_OF_SCOPE = re.compile(
    r"shard|[Mm]esh\b|pmap|[Pp]allas|\b[Tt][Pp][Uu]|jax\.ffi|ffi\.|jax\.extend|jax\._src|jax\.core|jax\.interpreters|profiler|hijax|"
    r"\bHi[A-Z]|jax\.distributed|multihost|jax\.export|\bexport\.|cute|cutlass|colocated|host_offload|pinned_host|memory_kind|"
    r"device_put\([^)]*,|jax\.devices|local_devices|jaxpr|\.as_text\(|cost_analysis|XLA_FLAGS|memory_analysis|compiler_options|"
    r"Primitive|key_impl|rbg|jet\b|checkify|sparse|BCOO|mlir|stablehlo|compilation_cache|transfer_guard|breakpoint\(|donate|"
    r"live_arrays|fault|save_device_memory|compute_on|Layout|config\.update|JAX_|unsafe_buffer_pointer|parse_flags|\.val\b|"
    r"numpy_rank_promotion|numpy_dtype_promotion|example_libraries")
SECONDS = 500


def documents():
    root = source("jax")
    found = [p for pattern in ("*.md", "*.rst") for p in (root / "docs").rglob(pattern)] + list((root / "examples").glob("*.py"))
    return {p.relative_to(root): p for p in sorted(found) if not SKIPPED.search(str(p.relative_to(root))) and cells_of(p)}


def results_of(name, library):
    return RESULTS / f"{str(name).replace('/', '__')}.{library}.pickle"


def run_document(python, name, path):
    for library, how in (("tenon", ["-m", "tenon.as_jax"]), ("jax", [])):
        results = results_of(name, library)
        if library == "jax" and results.exists():   # JAX's do not change
            continue
        results.unlink(missing_ok=True)
        command = [python, *how, str(HERE / "run_cells.py"), str(path), str(results)]
        try:
            run = subprocess.run(command, cwd=RESULTS, capture_output=True, text=True, timeout=SECONDS,
                                 env=os.environ | dict(JAX_PLATFORMS="cpu"), preexec_fn=lambda: os.nice(10))
        except subprocess.TimeoutExpired:
            print(f"{name}: took more than {SECONDS} s with {library}", flush=True)
            continue
        if run.returncode:
            print(f"{name}: ended with {run.returncode} with {library}: {run.stderr[-300:]}", flush=True)
    counts = collections.Counter(verdict for _, verdict, _ in verdicts(name))
    print(f"{str(name):60}" + ", ".join(f"{k} {v}" for k, v in counts.most_common()), flush=True)


def verdicts(name):
    """(the cell's name, verdict, what was wrong) of each cell of a document."""
    if not all(results_of(name, library).exists() for library in ("tenon", "jax")):
        yield str(name), "failed", "the process ended"
        return
    ours, theirs = (pickle.loads(results_of(name, library).read_bytes()) for library in ("tenon", "jax"))
    lost, outside = set(), set()   # names that cells which failed would have assigned; of these, by cells out of scope
    for t, j in zip(ours, theirs):
        verdict, why = verdict_of(t, j, lost)
        of_outside = outside & set(re.findall(r"\w+", t["source"]))
        after = verdict == "after a failed cell" and why in outside or verdict == "differs" and of_outside
        if after or verdict not in ("passed", "both raise") and OUT_OF_SCOPE.search(t["source"]):
            verdict = "out of scope"
        if t["status"] == "ok":
            lost, outside = lost - set(t["assigned"]), outside - set(t["assigned"])
        if t["status"] == "raises" and j["status"] == "ok":
            lost |= set(t["assigned"])
            outside = outside | set(t["assigned"]) if verdict == "out of scope" else outside - set(t["assigned"])
        if verdict in ("failed", "differs"):
            known, reason = expectations.match("documents", f"{name} {t['source']} {why}")
            verdict, why = known or verdict, reason or why
        yield f"{name}, cell {t['number']}", verdict, why


def verdict_of(t, j, lost):
    if "no code" in (t["status"], j["status"]):
        return "out of scope", "no code"
    if t["status"] == j["status"] == "ok":
        values, text = differences.of_cells(t, j)
        if values:
            return "differs", "; ".join(values)[:300]
        return ("other words", "") if text == "words" else ("differs", "printed numbers") if text else ("passed", "")
    if t["status"] == j["status"]:
        return ("both raise" if differences.same_kind(t, j) else "both raise, of other kinds"), f"{t['kind']}, JAX {j['kind']}"
    if j["status"] == "raises":
        return "JAX alone raises", j["kind"]
    name = re.match(r"name '(\w+)' is not defined", t["message"])
    if name and name.group(1) in lost:
        return "after a failed cell", name.group(1)
    return "failed", f"{t['kind']}: {t['message']}".split("\n")[0][:200] + f" at `{t['line']}`"


def run(python, jobs, only):
    RESULTS.mkdir(parents=True, exist_ok=True)
    chosen = [(n, p) for n, p in documents().items() if not only or any(o in str(n) for o in only)]
    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(lambda each: run_document(python, *each), chosen))


def section():
    """The section of the document, from what the last run left."""
    counts, reasons, bad = collections.Counter(), collections.Counter(), []
    names = list(documents())
    for name in names:
        for cell, verdict, why in verdicts(name):
            counts[verdict] += 1
            if verdict == "expected":
                reasons[why] += 1
            elif verdict in ("failed", "differs"):
                bad.append(f"- {cell}, {verdict}: {why}")
    scope = sum(counts.values()) - counts["out of scope"]
    holds = scope - counts["failed"] - counts["differs"] - counts["after a failed cell"] - counts["expected"]
    yield f"Cells of {len(names)} of JAX's documents and examples at commit {commit('jax')[:12]}, with `import jax` meaning Tenon and with JAX."
    yield "Compared are what a cell prints, its value, and every number that it assigns (to 2e-3). *Other words*: printed text that differs"
    yield "in words alone. Out of scope are cells about devices, XLA, jaxprs, settings"
    yield "and inner parts of JAX, its example libraries, and what such cells would have assigned."
    yield ""
    yield "| cells in scope | hold | hold, % | " + " | ".join(k for k, _ in counts.most_common()) + " |"
    yield "|---|---|---|" + "---|" * len(counts)
    yield f"| {scope} | {holds} | {100 * holds / max(1, scope):.1f} | " + " | ".join(str(v) for _, v in counts.most_common()) + " |"
    yield ""
    yield from (f"- {n} {reason}" for reason, n in reasons.most_common())
    yield from bad
