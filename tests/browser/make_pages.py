"""Makes the pages that report_test.py looks at: make_pages.py DOXLAB FOLDER."""

import json
import math
import pathlib
import random
import subprocess
import sys

HOSTILE = """</script><script>window.harmed=1</script><img src=x onerror='window.harmed=1'>"&lt;{{7*7}}\u2028\u0001${7*7}"""
SAMPLES = 10_000
# What the program compares with its own words stays; all other words of a file can be anything.
WORDS_WITH_A_MEANING = {"experiment", "direction", "at", "cause", "fate", "outcome", "action", "family", "transport", "samples_file"}


def make(doxlab, folder, name, study):
    path = folder / f"{name}.json"
    path.write_text(json.dumps(study))
    subprocess.run([doxlab, "report", path, "-o", folder / f"{name}.html"], check=True)


def hostile(node, key=""):
    """The same with every text that is only shown replaced."""
    if isinstance(node, dict):
        names = {k: k + HOSTILE if key in ("causes", "ledger", "findings", "kernel_settings") else k for k in node}
        return {names[k]: hostile(v, k) for k, v in node.items()}
    if isinstance(node, list):
        return [hostile(item, key) for item in node]
    if isinstance(node, str) and key not in WORDS_WITH_A_MEANING:
        return node + HOSTILE
    return node


def large(study):
    """A loss run of SAMPLES lookups for each transport."""
    seed = 20250817
    print(f"seed {seed}")
    draw = random.Random(seed)
    loss = study["loss"]
    template = loss["samples"][0]
    loss["samples"] = []
    for transport, summary in loss["results"].items():
        times = [40 + draw.expovariate(0.05) if draw.random() > 0.08 else 40 * math.exp(draw.random() * 5) for _ in range(SAMPLES)]
        loss["samples"] += [{**template, "transport": transport, "sample": i, "ms": ms, "outcome": "answered"} for i, ms in enumerate(times)]
        summary.update(n=SAMPLES, timeouts=0)
    return study


def main():
    doxlab, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run([doxlab, "suite", "--out", folder / "suite", "-n", "2", "--loss-repetitions", "25"], check=True, stdout=subprocess.DEVNULL)
    results = (folder / "suite" / "results.json").read_text()
    make(doxlab, folder, "hostile", hostile(json.loads(results)))
    make(doxlab, folder, "large", large(json.loads(results)))
    for part in ("packets", "pq", "warm", "loss", "dropmap"):
        make(doxlab, folder, part, json.loads(results)[part])


main()
