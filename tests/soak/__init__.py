"""Long crawls of a web with bad weather: what leaks, and what does not add up, shows here."""
