"""An ordinary Scrapy project with the scrapy_polite add-on."""
