"""What can be done with corpora and token files that are there already.

    layouts.py, mds.py   token files of other tools: where their tokens and documents are
    importing.py         a manifest around such files, without copying them
    combining.py         one manifest over the shards of several
    restore.py           the texts of a shard again, out of its tokens
    peek.py, lineage.py  one document or token and where it came from; a shard back to its raw files
    compare.py           what differs between two corpora
    exporting.py         Parquet, a Hugging Face folder, and the token layouts of others

Nothing here runs a recipe. All of it reads and writes through `manifests`.
"""
