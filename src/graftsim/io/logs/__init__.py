"""Log files: tables of any format become recordings, checked and in SI units."""
