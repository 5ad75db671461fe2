"""Which tokens a step trains on: pure functions of seed, manifests, schedule and row number.

    order.py          keyed permutations of blocks, with their inverse
    walk.py           Tijdeman's chairman assignment, the rule under the mixture
    mixture.py        which source a row comes from: periods, credits carried over phases
    schedule.py       phases, batch sizes and weights as the user gives them, resolved to rows
    cursors.py        where each source stands at the start of each phase
    rows.py           RowPlan: row <-> (source, epoch, block, part), and step -> rows
    refs.py           the records of a plan: RowRefs, PlanSource, PlanManifest
    planning.py       from manifests and schedule to a RowPlan; all that a start refuses
    plan_facts.py     a RowPlan as JSON and back, and its fingerprints
    resume.py         what a changed schedule may not change: the past
    source_tokens.py  shards of a source laid end to end, opened lazily
    targets.py        the class of each target: trained, masked, padding, cut, excluded
    loader.py         batches for one rank (the only file here that may import torch)

Start with rows.py. Nothing here trains, counts or writes: see loop.py, counts.py and ledger.py.
"""
