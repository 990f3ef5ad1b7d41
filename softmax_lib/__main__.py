"""`python -m softmax_lib`: the same as `softmax-lib`."""

import sys

from softmax_lib.cli import main

sys.exit(main())
