from crawls.test_gate import *
async def test_x(web):
    sites = {name: web.site({"/robots.txt": 404, **site.pages}) for name, site in SITES.items()}
    asked = [
        {**asking, "url": sites[name].url(asking["url"])}
        for name, site in SITES.items()
        for asking in site.asked
    ]
    run = await crawl_here(web, asked, SETTINGS)
    names = {s.host:n for n,s in sites.items()}
    t0=run.arrivals[0].start_at
    for a in run.arrivals[-12:]: print(f"{a.start_at-t0:.2f} {names[a.host]} {a.path} {a.status} {a.ended} {a.duration:.3f}")
    print(run.seconds, {k:v for k,v in run.stats.items() if "wait" in k or "outage" in k or "unused" in k})
