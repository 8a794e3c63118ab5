"""The parts of `robot_files.py`: which files, processes with limits, oracles, tables."""
