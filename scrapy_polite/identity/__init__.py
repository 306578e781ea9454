"""An identity that can be verified: keys, signatures, and what is published about a crawler.

    keys       the private key, its thumbprint, new keys
    signature  what a signed request carries
    about      what there is to say about a crawler
    card       the card and the key directory, as JSON
    page       the page for site owners

Rules: no module here waits, and the secret part of a key never leaves `keys`.  What the extra
`signatures` brings is imported where it is needed.
"""

from __future__ import annotations
