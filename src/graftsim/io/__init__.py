"""Files in and out: robot descriptions, recordings."""
