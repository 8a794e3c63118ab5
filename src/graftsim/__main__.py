"""`python -m graftsim`."""

import sys

from graftsim.cli import main

sys.exit(main())
