"""What the components of one crawler share: turns, robots verdicts, and their owner."""
