"""Hanabi for people to look at: as coloured text, and as a picture.

Its modules draw with rich and Pillow, so nothing that plays or searches imports them.
"""
