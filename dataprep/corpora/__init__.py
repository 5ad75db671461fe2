"""What can be done with corpora and token files that are there already.

    importing.py, spec.py, measure.py
                               a manifest around token files of other tools, without copying them
    layouts.py, megatron.py, mds.py, tokenfile.py
                               where in such files the tokens are, and where documents end
    combining.py               one manifest over the shards of several
    restore.py                 the texts of a shard again, out of its tokens
    peek.py, lineage.py        one document or token and where it came from; a shard back to its raw files
    compare.py                 what differs between two corpora
    exporting.py, card.py      Parquet, a Hugging Face folder, and the token layouts of others

Nothing here runs a recipe. All of it reads and writes through `manifests`.
"""
