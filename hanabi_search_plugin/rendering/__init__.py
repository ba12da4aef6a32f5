"""Hanabi for people to look at: as coloured text, as a picture, and as a page for a browser.

Its modules draw with rich, Pillow and the files of ``web/``, so nothing that plays or searches
imports them.
"""
