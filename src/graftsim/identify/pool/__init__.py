"""Tasks on many workers, and files that survive being killed."""
