"""Tables of native Hanabi in a browser: people at some seats, policies and searches at the others.

What a page is told is made of its own seat's views (``seat_messages``), what comes from it is
checked (``page_messages``), games go on in threads (``workers``, ``live_table``), and ``web_app``
lets nobody in who does not know a token.
"""
