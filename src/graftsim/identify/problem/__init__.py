"""The problem: measurements, what is free, windows, residuals and their noise."""
