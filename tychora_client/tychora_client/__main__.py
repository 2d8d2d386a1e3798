"""`python -m tychora_client` is `tychora`."""

import sys

from tychora_client.cli import main

sys.exit(main())
