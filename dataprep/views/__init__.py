"""Views of what the last run of a recipe made of its documents; nothing is measured again. One document
(`explain`), copies and what they are copies of (`duplicates`), what is near to a text (`similar`), evaluation
sets (`contamination`). Corpora that are finished are looked at in `dataprep/corpora/`."""
