"""What the components of one crawler share: turns, robots verdicts, and the object that owns them."""
