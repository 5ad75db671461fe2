from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from dataprep.batch import Batch
from dataprep.columnfile import hashes_to_arrow
from dataprep.kernels.hashing import hash128
from dataprep.kernels.texts import Texts
from dataprep.steps.base import consulted, measuring_parameters, needed_fields
from dataprep.steps.exclude import EXCLUDE, ExcludeParams, normalized
from dataprep.steps.listed import among, digest_list, sorted_hashes
from manifests.errors import UserError
from manifests.fingerprint import digest_file
from tests.dataprep.kernels.strategies import texts
from tests.reference import where as twin

READ = Texts.from_strings(["zero", "one", "two", "three"])
NOW = Texts.from_strings(["zero", "ONE", "two", "three"])
URLS = ["http://A.example/x", "https://b.example", None, "c.example/?q=1"]


def params_of(**data: Any) -> ExcludeParams:
    return ExcludeParams.model_validate_json(json.dumps(data))


def batch() -> Batch:
    return Batch.of(READ, ["0", "1", None, ""], {"url": URLS}).with_texts(NOW)


def dropped(params: ExcludeParams) -> dict[str, list[int]]:
    signals = EXCLUDE.measure(batch(), params)
    return {check.reason: np.flatnonzero(check.dropped).tolist() for check in EXCLUDE.checks(signals, params)}


def hex_of(text: str) -> str:
    whole = Texts.from_strings([text])
    value: bytes = hashes_to_arrow(hash128(whole.data, whole.offsets))[0].as_py()
    return value.hex()


def test_by_id() -> None:
    assert dropped(params_of(ids=["1", "nobody"])) == {"excluded_id": [1]}
    assert dropped(params_of(ids=["01", "1 "])) == {"excluded_id": []}


def test_a_document_without_id_or_url_is_on_no_list() -> None:
    assert dropped(params_of(ids=["0", "1"], urls=["x"])) == {"excluded_id": [0, 1], "excluded_url": []}


def test_by_hash_of_the_text_as_read_or_as_it_is() -> None:
    hashes = [hex_of("zero"), hex_of("one").upper(), hex_of("nobody")]
    assert dropped(params_of(hashes=hashes)) == {"excluded_hash": [0, 1]}
    assert dropped(params_of(hashes=[hex_of("ONE")])) == {"excluded_hash": [1]}


def test_by_url_in_one_form() -> None:
    listed = ["HTTPS://a.EXAMPLE:443/x#part", "b.example/", "http://c.example/?q=2"]
    assert dropped(params_of(urls=listed)) == {"excluded_url": [0, 1]}


def test_lists_in_files(tmp_path: Path) -> None:
    (tmp_path / "ids").write_text("\ufeff0\r\n\n  1 \n# 2", encoding="utf-8")
    (tmp_path / "hashes").write_text(hex_of("two"))
    params = params_of(
        ids_file=str(tmp_path / "ids"), hashes_file=str(tmp_path / "hashes"), urls=["b.example"]
    )
    assert dropped(params) == {"excluded_id": [0, 1], "excluded_url": [1], "excluded_hash": [2]}


def test_a_longer_list_is_looked_up_again_and_measured_no_more(tmp_path: Path) -> None:
    path = tmp_path / "ids"
    path.write_text("0\n")
    params = params_of(ids_file=str(path))
    before = consulted(EXCLUDE, params)
    assert dropped(params) == {"excluded_id": [0]}
    path.write_text("0\n1\n")
    assert dropped(params) == {"excluded_id": [0, 1]}
    assert consulted(EXCLUDE, params) != before and list(before) == ["ids_file"]
    assert measuring_parameters(EXCLUDE, params) == {} == dict(EXCLUDE.depends(params))


def test_a_file_is_hashed_once_for_all_splits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "ids"
    path.write_text("one\n")
    hashed = []

    def counted(file: str) -> Any:
        hashed.append(file)
        return digest_file(file)

    monkeypatch.setattr("dataprep.steps.listed.digest_file", counted)
    digests = {digest_list(str(path)) for _ in range(5)}
    assert len(digests) == len(hashed) == 1
    path.write_text("another\n")
    assert digest_list(str(path)) not in digests


def test_urls_need_their_field() -> None:
    assert needed_fields(EXCLUDE, params_of(ids=["x"]), ()) == ()
    assert needed_fields(EXCLUDE, params_of(urls=["x"]), ()) == ("url",)
    assert needed_fields(EXCLUDE, params_of(urls_file="x", url_field="meta.url"), ()) == ("meta.url",)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("ids", None, "cannot read a list: no such file or directory"),
        ("ids", b"a\xff", "a list is not UTF-8"),
        ("hashes", b"0123", 'expected 32 hex digits a line, found "0123"'),
    ],
)
def test_files_that_cannot_be_used(name: str, content: bytes | None, message: str, tmp_path: Path) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UserError, match=message) as error:
        consulted(EXCLUDE, params_of(**{f"{name}_file": str(path)}))
    assert error.value.where == str(path)


@pytest.mark.parametrize("data", [{}, {"url_field": "x"}, {"hashes": ["12"]}, {"ids": [1]}, {"ids": [""]}])
def test_parameters_that_list_nothing(data: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        params_of(**data)


PIECES = [
    "http://",
    "HTTPS://",
    "ftp://",
    "a.Example",
    "\u00c9.org",
    ":80",
    ":443",
    ":8080",
    "/",
    "?",
    "#",
    "x",
    " ",
    "\n",
]


@given(st.lists(st.sampled_from(PIECES) | texts, max_size=6).map("".join) | st.none())
def test_the_form_of_urls_equals_the_slow_twin(url: str | None) -> None:
    (found,) = normalized(pa.array([url], pa.string())).to_pylist()
    assert found == (None if url is None else twin.normalized(url))


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=8),
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=8),
)
def test_among_equals_a_set(pairs: list[tuple[int, int]], listed: list[tuple[int, int]]) -> None:
    hashes = np.array(pairs, dtype=np.uint64).reshape(-1, 2)
    wanted = sorted_hashes(np.array(listed, dtype=np.uint64).reshape(-1, 2))
    assert among(hashes, wanted).tolist() == [pair in set(listed) for pair in pairs]
