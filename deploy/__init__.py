"""The command `privity`, and everything that stands above both nodes."""

import os

# Must be said before gRPC is loaded: its core would write lines of its own form among the nodes' log lines. Why a
# connection does not come about, the party says itself.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")
