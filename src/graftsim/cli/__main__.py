"""`python -m graftsim.cli`."""

import sys

from graftsim.cli import main

sys.exit(main())
