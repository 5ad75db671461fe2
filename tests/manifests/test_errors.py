from __future__ import annotations

from multiprocessing.reduction import ForkingPickler

import pytest

from manifests.errors import UserError
from manifests.files import DiskFull
from manifests.manifest import ManifestError
from manifests.shard import ShardError
from manifests.tables import TableError


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (UserError("no input matched"), "no input matched"),
        (UserError("no input matched", where="recipe.yaml:3"), "no input matched\nrecipe.yaml:3"),
        (UserError("no input matched", hint="check the path"), "no input matched\n\nhint: check the path"),
        (
            UserError("no input matched", where="recipe.yaml:3", hint="check the path"),
            "no input matched\nrecipe.yaml:3\n\nhint: check the path",
        ),
    ],
)
def test_text(error: UserError, text: str) -> None:
    assert str(error) == text


@pytest.mark.parametrize("kind", [UserError, DiskFull, ShardError, ManifestError, TableError])
def test_crosses_processes_whole(kind: type[UserError]) -> None:
    error = kind("what", where="where", hint="hint")
    again = ForkingPickler.loads(ForkingPickler.dumps(error))
    assert type(again) is kind
    assert (again.what, again.where, again.hint) == ("what", "where", "hint")
    assert isinstance(again, UserError) and isinstance(again, ValueError)
