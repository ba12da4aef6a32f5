"""Inputs of networks: named, versioned encodings of views, and features computed from them."""
