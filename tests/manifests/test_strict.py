"""The strict door: places, unions, --set, checks; and that no text at all gets past it but as a UserError."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PlainValidator, model_validator

from manifests.errors import UserError
from manifests.problems import Problem, refusal
from manifests.strict import load_yaml, parse, parse_plain, read
from manifests.units import Count, Size
from manifests.wording import describe, nearest


class Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Phase(Strict):
    start: int | str = 0
    weights: Annotated[dict[str, Annotated[float, Field(gt=0)]], Field(min_length=1)]
    betas: tuple[float, int] = (0.9, 2)


def _odd(value: int) -> int:
    if value % 2 == 0:
        raise ValueError("must be odd")
    return value


def _refuse_inside(value: Any) -> Any:
    if value != "good":
        raise refusal([Problem(("deep", 1), "is not good"), Problem(("missing",), "is not here")])
    return value


class Config(Strict):
    name: str
    run: Path = Path("runs")
    seed: Annotated[int, AfterValidator(_odd)] = 1
    phases: tuple[Phase, ...] = ()
    on: bool = False
    paths: str | tuple[str, ...] = "x"
    kind: Literal["a", "b"] | int | None = None
    options: dict[str, Phase] = {}
    size: Size = 0
    count: Count = 0
    special: Annotated[Any, PlainValidator(_refuse_inside)] = "good"

    @model_validator(mode="after")
    def _whole(self) -> Config:
        if self.name == "whole":
            raise ValueError("is wrong as a whole")
        return self


def write(folder: Path, text: str | bytes) -> Path:
    path = folder / "c.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def lines_of(folder: Path, text: str, sets: list[str] | None = None, **more: Any) -> list[str]:
    """What is wrong with `text`, without the path of the file."""
    path = write(folder, text)
    with pytest.raises(UserError) as caught:
        parse(Config, path, sets or [], **more)
    assert caught.value.where is not None
    return caught.value.where.replace(str(path), "c.yaml").splitlines()


def test_a_good_file(tmp_path: Path) -> None:
    text = "name: n\nrun: a/b\nphases:\n- {weights: {web: 1, code: 5e-1}}\nsize: 1.5kB\ncount: 1e3\n"
    config = parse(Config, write(tmp_path, text))
    assert (config.run, config.size, config.count) == (Path("a/b"), 1500, 1000)
    assert config.phases[0].weights == {"web": 1.0, "code": 0.5}


def test_nothing_is_coerced(tmp_path: Path) -> None:
    assert lines_of(tmp_path, 'name: true\nseed: "1"\non: 1\nrun: 3\nphases: {}\n') == [
        'c.yaml:1: name: expected text, found true; put it in quotes: "true"',
        'c.yaml:2: seed: expected a whole number, found the text "1"; write 1',
        "c.yaml:3: on: expected true or false, found the number 1",
        'c.yaml:4: run: expected text, found the number 3; put it in quotes: "3"',
        "c.yaml:5: phases: expected a list, found {}",
    ]
    assert lines_of(tmp_path, "name: n\nseed: 1.0\n") == [
        "c.yaml:2: seed: expected a whole number, found the number 1.0"
    ]


def test_unions_say_all_that_was_wanted_or_follow_the_branch_that_fits(tmp_path: Path) -> None:
    assert lines_of(tmp_path, "name: n\npaths: 3\nkind: c\n") == [
        'c.yaml:2: paths: expected text or a list, found the number 3; put it in quotes: "3"',
        'c.yaml:3: kind: expected one of a, b or a whole number, found the text "c"',
    ]
    assert lines_of(tmp_path, "name: n\npaths:\n- a\n- 4\nphases:\n- {start: [], weights: {w: 0}}\n") == [
        'c.yaml:4: paths.1: expected text, found the number 4; put it in quotes: "4"',
        "c.yaml:6: phases.0.start: expected a whole number or text, found a list of 0",
        "c.yaml:6: phases.0.weights.w: expected a number above 0, found the number 0",
    ]


def test_missing_and_unknown_keys(tmp_path: Path) -> None:
    assert lines_of(tmp_path, "nmae: n\nphases:\n- wieghts: {}\noptions:\n  x: {weight: {}}\n") == [
        'c.yaml:1: the key "name" is missing',
        'c.yaml:1: nmae: unknown key; did you mean "name"? valid: name, run, seed, phases, on, paths, kind, '
        "options, size, count, special",
        'c.yaml:3: phases.0: the key "weights" is missing',
        'c.yaml:3: phases.0.wieghts: unknown key; did you mean "weights"? valid: start, weights, betas',
        'c.yaml:5: options.x: the key "weights" is missing',
        'c.yaml:5: options.x.weight: unknown key; did you mean "weights"? valid: start, weights, betas',
    ]


def test_validators_of_the_model_say_where(tmp_path: Path) -> None:
    assert lines_of(tmp_path, "name: whole\n") == ["c.yaml:1: is wrong as a whole"]
    text = "name: n\nseed: 2\nspecial:\n  a: 1\n  deep:\n  - 1\n  - 2\n"
    assert lines_of(tmp_path, text) == [
        "c.yaml:2: seed: must be odd",
        "c.yaml:3: special.missing: is not here",
        "c.yaml:7: special.deep.1: is not good",
    ]


def test_checks_run_beside_the_models(tmp_path: Path) -> None:
    def checks(data: Any) -> Iterator[Problem]:
        yield Problem(("seed",), f"does not go with name {data['name']!r}")

    assert lines_of(tmp_path, "name: 3\nseed: 1\n", checks=checks) == [
        'c.yaml:1: name: expected text, found the number 3; put it in quotes: "3"',
        "c.yaml:2: seed: does not go with name 3",
    ]


def test_sets_replace_add_and_reach_into_lists(tmp_path: Path) -> None:
    text = "name: n\nphases:\n- {weights: {web: 1}}\n- {start: 5, weights: {web: 1}}\n"
    sets = [
        "name=other name",
        "phases.1.weights.code=2",
        "phases.0.start=30 steps",
        "options.new={weights: {a: 1}}",
        'paths=["a", "b"]',
        "seed=3",
        "seed=5",
    ]
    config = parse(Config, write(tmp_path, text), sets)
    assert config.name == "other name"
    assert config.phases[1].weights == {"web": 1.0, "code": 2.0}
    assert config.phases[0].start == "30 steps"
    assert config.options["new"].weights == {"a": 1.0}
    assert config.paths == ("a", "b")
    assert config.seed == 5  # the last one holds


def test_a_set_does_not_reach_through_an_alias(tmp_path: Path) -> None:
    text = "name: n\nphases:\n- &p {weights: {web: 1}}\n- *p\n"
    config = parse(Config, write(tmp_path, text), ["phases.0.weights.web=3"])
    assert [phase.weights["web"] for phase in config.phases] == [3.0, 1.0]


def test_a_set_by_the_key_of_a_list_entry(tmp_path: Path) -> None:
    text = "name: n\nphases:\n- {weights: {web: 1}}\n- {start: 1, weights: {web: 1}}\n"
    assert parse(Config, write(tmp_path, text), ["phases.start=7"]).phases[1].start == 7
    assert lines_of(tmp_path, text, ["phases.weights.web=7"]) == [
        "--set phases.weights.web=7: phases.weights: several entries have it: say which by its number, 0, 1"
    ]


def test_bad_sets_come_after_the_file_in_their_order(tmp_path: Path) -> None:
    sets = ["seed=x", "phases.0.weights.a=b", "options.x.start=1", "name.first=3", "on", "seed= [1", "a..b=1"]
    assert lines_of(tmp_path, "name: n\ntypo: 1\nphases: [{weights: {a: 1}}]", sets) == [
        "c.yaml:2: typo: unknown key; valid: name, run, seed, phases, on, paths, kind, options, size, count, "
        "special",
        '--set seed=x: seed: expected a whole number, found the text "x"',
        '--set phases.0.weights.a=b: phases.0.weights.a: expected a number, found the text "b"',
        "--set options.x.start=1: options.x: there is no such key here",
        '--set name.first=3: name: has no parts: it is the text "n", not a mapping or a list',
        "--set on: expected --set key.path=value",
        '--set seed= [1: not valid YAML: a "[" is never closed',
        "--set a..b=1: expected --set key.path=value",
    ]


def test_places_outlive_validation(tmp_path: Path) -> None:
    path = write(tmp_path, "name: n\nphases:\n-\n  weights:\n    web: 1\n")
    places = read(Config, path, ["seed=3"]).places
    assert places.of("name") == f"{path}:1"
    assert places.of("phases", 0, "weights") == f"{path}:4"
    assert places.of("phases", 0, "weights", "web") == f"{path}:5"
    assert places.of("phases", 0, "start") == f"{path}:4"  # a default: what is around it
    assert places.of("phases", 7) == f"{path}:2"
    assert places.of("seed") == "--set seed=3"


def test_plain_values_are_held_to_the_same_rules() -> None:
    assert parse_plain(Config, {"name": "n", "phases": [{"weights": {"a": 1}}]}, "saved").name == "n"
    with pytest.raises(UserError) as caught:
        parse_plain(Config, {"name": 3, "sed": 1}, "saved")
    assert caught.value.what == "2 problems in saved"
    assert str(caught.value.where).startswith(
        "saved: name: expected text, found the number 3\nsaved: sed: unknown"
    )


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    for path, what in (
        (tmp_path / "no.yaml", "no such file"),
        (tmp_path, "cannot read the file: is a directory"),
        (tmp_path / "a\0b", "cannot read the file: embedded null byte"),
    ):
        with pytest.raises(UserError) as caught:
            parse(Config, path)
        assert (caught.value.what, caught.value.where) == (what, str(path))
    write(tmp_path, "name: n\n")
    with pytest.raises(UserError, match=r"here are: .*c\.yaml"):
        parse(Config, tmp_path / "d.yaml")
    big = write(tmp_path, b"#" * (1 << 20) + b"\n")
    with pytest.raises(UserError, match="larger than 1,048,576 bytes"):
        load_yaml(big)


def test_words_for_values() -> None:
    assert describe("x" * 50) == f'the text "{"x" * 37}..."'
    assert describe({"a": 1}) == "a mapping with a"
    assert describe([1, 2]) == "a list of 2"
    assert describe(None) == "nothing"
    assert nearest("max-bytes", ["max_bytes", "path"]) == "max_bytes"
    assert nearest("MaxBytes", ["max_bytes", "path"]) == "max_bytes"
    assert nearest("qqq", ["max_bytes", "path"]) is None


_SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=20))
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from([*Config.model_fields, "weights", "start", "x"]) | st.text(max_size=5), inner
        )
    ),
    max_leaves=20,
)


def accepts_or_refuses(path: Path, sets: list[str]) -> None:
    try:
        parse(Config, path, sets)
    except UserError as error:
        assert error.where
        assert "headrace" not in str(error).replace(str(path), "")
        str(error).encode()  # printable: no half characters


@given(
    data=st.binary(max_size=60) | st.text(max_size=60).map(lambda text: text.encode("utf-8", "surrogatepass"))
)
def test_any_bytes(data: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    accepts_or_refuses(write(tmp_path_factory.getbasetemp(), data), [])


@given(text=st.text(alphabet="ab:-[]{}\"'#&*!|>%@`,?~ \n\t\\uU0.", max_size=60))
def test_any_punctuation(text: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    accepts_or_refuses(write(tmp_path_factory.getbasetemp(), text), [])


@given(value=_VALUES, style=st.sampled_from([None, True, False]))
def test_any_yaml(value: Any, style: bool | None, tmp_path_factory: pytest.TempPathFactory) -> None:
    text = yaml.safe_dump(value, default_flow_style=style, allow_unicode=True)
    accepts_or_refuses(write(tmp_path_factory.getbasetemp(), text.encode("utf-8", "surrogatepass")), [])


@given(
    sets=st.lists(
        st.text(max_size=20)
        | st.tuples(
            st.sampled_from(
                ["name", "phases.0", "phases.0.weights.a", "options.x.y", "phases.start", "special", "0.0"]
            ),
            st.text(alphabet="ab:-[]{}\"'#&*!|> \n\\uU0.", max_size=12),
        ).map("=".join),
        max_size=3,
    )
)
def test_any_set(sets: list[str], tmp_path_factory: pytest.TempPathFactory) -> None:
    text = "name: n\nphases: [{weights: {a: 1}}]\n"
    accepts_or_refuses(write(tmp_path_factory.getbasetemp(), text), sets)
