"""What networks read of a view: named, versioned encodings, and the features made of them."""
