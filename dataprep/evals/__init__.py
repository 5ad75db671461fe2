"""Evaluation sets: reading them, the index of their n-grams, and the definitions of contamination.

`sets` reads files into examples, `known` says where the fields of well-known sets are, `index` makes the
flat arrays that workers share, `definitions` says what counts, `measure` finds hits in documents, `cuts` says
what to take out of a document. What all documents say together is `dataprep/decide/contamination.py`.
"""

from __future__ import annotations
