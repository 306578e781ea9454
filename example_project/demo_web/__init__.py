"""A small web of several sites on loopback addresses, and a referee that judges its visitors.

Every site has an address of its own (127.0.0.11, .12, ...), so a crawler sees different hosts.
No module here knows a crawler: what the referee says comes from the web's own log alone.

* `sites`: who the sites are and what each asks of a visitor.
* `pages`: their texts, from one small file a site under `content/`.
* `answers`: request in, answer out; the clock is an argument.
* `server`: the sockets and the log.
* `referee`: log in, figures out.  `table`: figures in, text out.
"""
