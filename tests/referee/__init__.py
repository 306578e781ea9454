"""Whole crawls of a real documentation site, served and judged by a real nginx.

The verdict is read from nginx's access log and from nothing else.
"""
