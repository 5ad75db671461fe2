"""Evaluation sets that corpora were checked against: who is refused, who is warned."""

from __future__ import annotations

from pathlib import Path

import pytest

from manifests.checked import require_checked, unchecked
from manifests.errors import UserError
from manifests.fingerprint import digest_file
from manifests.manifest import CheckedSet, Manifest, load_manifest
from tests.manifests.corpora import make_corpus


@pytest.fixture(scope="module")
def manifest(tmp_path_factory: pytest.TempPathFactory) -> Manifest:
    folder = tmp_path_factory.mktemp("corpus")
    make_corpus(folder)
    return load_manifest(folder)


def with_sets(manifest: Manifest, *sets: CheckedSet) -> Manifest:
    return manifest.model_copy(update={"lineage": manifest.lineage.model_copy(update={"evals": list(sets)})})


def a_set(path: Path, sources: list[str] | None = None, definition: str = "longest") -> CheckedSet:
    return CheckedSet(
        name=path.stem, digest=digest_file(path).digest, definition=definition, action="drop",
        sources=sources, examples=3, contaminated=1, documents=2,
    )  # fmt: skip


def test_a_set_that_was_not_looked_for_is_refused_or_warned_of(manifest: Manifest, tmp_path: Path) -> None:
    one, two = tmp_path / "one.jsonl", tmp_path / "two.jsonl"
    one.write_text("1\n")
    two.write_text("2\n")
    checked = with_sets(manifest, a_set(one))
    assert unchecked([checked], one) == []
    assert unchecked([checked, manifest], one) == [manifest]
    assert require_checked([checked], [one]) == []
    assert require_checked([checked], [one, two], "ignore") == []
    (warning,) = require_checked([checked, manifest], [one], "warn")
    assert warning == f"{one} was not looked for in {manifest.corpus}@{manifest.version}"
    with pytest.raises(UserError, match=r"two\.jsonl was not looked for") as caught:
        require_checked([checked], [one, two])
    assert "dataprep contamination" in str(caught.value)
    with pytest.raises(UserError, match="cannot be read"):
        require_checked([checked], [tmp_path / "none"])
    one.write_text("other bytes\n")
    assert unchecked([checked], one) == [checked]


def test_every_source_must_have_been_checked(manifest: Manifest, tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    path.write_text("1\n")
    sources = list(manifest.sources)
    assert len(sources) > 1
    assert unchecked([with_sets(manifest, a_set(path, sources[:1]))], path)
    halves = with_sets(manifest, a_set(path, sources[:1]), a_set(path, sources[1:]))
    assert unchecked([halves], path) == []
