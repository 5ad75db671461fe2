"""Raw text to verified token shards. `cli` has the verbs, `plan` the passes, `task` what a worker
executes."""
