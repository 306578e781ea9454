"""Pure policies: standard library only; `now` and randomness are arguments; frozen values out."""
