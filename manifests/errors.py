"""The one exception that a user sees as a message and not as a traceback.

`UserError` says what is wrong, where, and what to do. The command line prints it as

    error: WHAT
    WHERE

    hint: HINT

and exits with 2. It is for everything a user can mend (a recipe, a path, a full disk, a damaged shard);
mistakes of ours stay assertions and ordinary exceptions.

    ValueError
      UserError
        DiskFull        files.py       no room to write
        ShardError      shard.py       a .bin/.idx pair that is not what it should be
        TableError      tables.py      a Parquet side file that is damaged or has the wrong columns
        ManifestError   manifest.py    a manifest that cannot be read or does not agree with itself
"""

from __future__ import annotations


class UserError(ValueError):
    """Something that the user can mend.

    what   one sentence, lower case, without a full stop; several findings may be several lines.
    where  file, file:line, or task; None when `what` already says it.
    hint   what to run or change; None when there is nothing better than the obvious.

    `str(error)` is the whole text, so that `print(f"error: {error}")` is all that a command line needs.
    Survives pickling, so it crosses process pools unchanged.
    """

    def __init__(self, what: str, *, where: str | None = None, hint: str | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.hint = hint

    def __str__(self) -> str:
        text = self.what if self.where is None else f"{self.what}\n{self.where}"
        return text if self.hint is None else f"{text}\n\nhint: {self.hint}"

    def __reduce__(self) -> tuple[object, ...]:
        # BaseException pickles by calling the class with self.args, which would lose the keywords.
        return (_rebuild, (type(self), self.what, self.where, self.hint))


def _rebuild(kind: type[UserError], what: str, where: str | None, hint: str | None) -> UserError:
    return kind(what, where=where, hint=hint)
