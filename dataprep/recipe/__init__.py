"""The recipe: its schema and the one way to read it. `model` has the fields, `checks` the rules between them.

`fields` are the kinds of text that fields hold, `step_entry` is one entry of `steps:`. No file but the recipe
is looked at here; that is for `dataprep/preflight/`.
"""

from __future__ import annotations

from dataprep.recipe.model import Input, Recipe, Source, StepEntry, Tokenizer, load_recipe, recipe_of

__all__ = ["Input", "Recipe", "Source", "StepEntry", "Tokenizer", "load_recipe", "recipe_of"]
