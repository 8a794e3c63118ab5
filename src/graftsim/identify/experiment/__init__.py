"""Planning the next experiment."""
