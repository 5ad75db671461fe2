"""What is imported, and the manifest that says what was found."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from dataprep.corpora.measure import Facts, Job, add
from dataprep.tokenizers import TokenizerFacts
from dataprep.tokenizers.decode import Decoder
from manifests.errors import UserError
from manifests.fields import SUBSETS
from manifests.fingerprint import digest_value
from manifests.lists import Shard
from manifests.manifest import Lineage, Manifest, Source, Subset, TokenizerInfo, subset_of

MAX_NOTES = 200
"""Notes on files that the manifest keeps; the rest is counted."""


@dataclass(frozen=True, slots=True)
class ImportSpec:
    """What to import, and what the files do not say.

    train, holdout  source -> paths, folders or patterns of its token files
    licenses        source -> licence
    layout          "auto", "megatron", "datatrove", "raw" or "mds"
    dtype           of tokens in files that do not say it
    eos, bos        the end- and begin-of-text tokens by name; None looks for the usual names
    link            how files get their second name, see links.py
    """

    corpus: str
    version: str
    tokenizer: Path
    train: Mapping[str, Sequence[str]]
    holdout: Mapping[str, Sequence[str]] = field(default_factory=dict)
    licenses: Mapping[str, str] = field(default_factory=dict)
    layout: str = "auto"
    dtype: str | None = None
    eos: str | None = None
    link: str = "auto"
    bos: str | None = None


def imported_manifest(
    spec: ImportSpec,
    facts: TokenizerFacts,
    decoder: Decoder,
    dtype: str,
    made: Sequence[tuple[Job, Shard]],
    by_source: Mapping[str, Facts],
    probe: Mapping[str, tuple[int, int]],
    notes: Sequence[str],
) -> Manifest:
    """The manifest of imported files, unsealed and without the digest of its list of inputs. Raises
    UserError."""
    if not made:
        raise UserError("there is not one document in these files")
    total: Facts | None = None
    for found in by_source.values():
        total = add(total, found)
    assert total is not None
    shown = [
        *notes[:MAX_NOTES],
        *([f"and {len(notes) - MAX_NOTES:,} more"] if len(notes) > MAX_NOTES else []),
    ]
    recipe: dict[str, Any] = {
        "import": {
            "corpus": spec.corpus,
            "version": spec.version,
            "layout": spec.layout,
            "files": {source: sum(job.source == source for job, _ in made) for source in by_source},
            "found": {source: found.to_json() for source, found in by_source.items()},
            "reproduced": {source: list(counts) for source, counts in probe.items()},
            "notes": shown,
        }
    }
    return Manifest(
        corpus=spec.corpus,
        version=spec.version,
        dtype=dtype,  # type: ignore[arg-type]
        tokenizer=TokenizerInfo(
            file=facts.file,
            digest=facts.digest,
            vocab_size=facts.vocab_size,
            eos_id=facts.eos_id,
            bos_id=facts.bos_id,
            append_eos=facts.eos_id is not None and total.end_with_eos == total.documents,
            prepend_bos=facts.bos_id is not None and total.begin_with_bos == total.documents,
            special_tokens="parse" if total.special_inside else "text",
            engine="imported",
            engine_reason="the tokens were made elsewhere",
        ),
        sources={
            source: Source(
                license=spec.licenses.get(source),
                subsets=_subsets(source, [shard for _, shard in made]),
                order="stored",
                content_hash="text" if decoder.is_byte_level else "tokens",
            )
            for source in by_source
        },
        created_by=f"headrace {version('headrace')}",
        lineage=Lineage(
            recipe=recipe,
            recipe_digest=digest_value(recipe),
            inputs_digest="sha256:" + "0" * 64,  # filled in when the list is written
            steps=[],
            funnel=[],
            tools={
                "python": sys.version.split()[0],
                **{name: version(name) for name in ("numpy", "pyarrow", "tokenizers")},
            },
            parents=[],
        ),
    )


def _subsets(source: str, shards: Sequence[Shard]) -> dict[str, Subset]:
    mine = [shard for shard in shards if shard.source == source]
    return {subset: subset_of([each for each in mine if each.subset == subset]) for subset in SUBSETS}
