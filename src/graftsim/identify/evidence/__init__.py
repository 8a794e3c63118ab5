"""How far to trust a fit: errors by recording, intervals, profiles, bootstrap, landscapes."""
