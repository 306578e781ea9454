"""Requests on disk: queues, the journal of what is in progress, and the folders they are in."""
