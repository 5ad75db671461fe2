"""The stages between raw files and shards, one file each: what a task of the stage depends on, and what it
does.

measure -> decide -> sample -> tokenizer -> write -> pack. Each file has two halves: a pure one that the
planner uses (`tasks`: which tasks, under which keys) and `execute`, which a worker runs for one task. The
order of the stages and what one hands to the next is in `dataprep/plan.py`; a task's life (find, run,
commit) is in `dataprep/task.py`.
"""
