"""What the project measures of itself: `python -m benchmarks NAME`. No test depends on a time.

Each module of BENCHMARKS has `run(data_pack, quick)`, which returns a dict of figures; `benchmarks.__main__`
adds the machine and the yardstick. Helpers for fair timing are in `benchmarks.measure`.
"""

from __future__ import annotations

BENCHMARKS = {
    "read": "compressed JSON lines to Arrow, beside decompressing and parsing alone",
    "steps": "each step of a recipe on text in memory",
    "dedup": "near-duplicates: signatures, precision and recall, the cost of deciding; beside other tools",
    "decontaminate": "documents against evaluation sets, beside a plain set of n-grams",
    "tokens": "documents to shards, cold and warm, beside other tools",
    "pipeline": "a whole recipe, stage by stage, beside the blocks of datatrove",
    "crawl": "records of WARC files to documents, pages to text",
    "memory": "the most that a worker takes that measures",
    "loader": "rows of tokens to a trainer, beside a plain loop over the same file",
}
