"""Pure policies: standard library only; `now` and random numbers are arguments; frozen dataclasses out."""
