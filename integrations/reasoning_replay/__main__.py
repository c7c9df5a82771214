"""`python -m reasoning_replay` is the command `reasoning-replay`."""

import sys

from ._cli import main

sys.exit(main())
