"""Which host may be asked next: back queues and a heap of ready times, without I/O or clocks."""
