"""`python -m topos`: the `topos` command."""

import sys

from topos.cli import main

sys.exit(main())
