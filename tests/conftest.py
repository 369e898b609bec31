"""For all tests."""

from hypothesis import settings

# How long an example takes is a matter of the machine and of what else it does.
settings.register_profile("privity", deadline=None)
settings.load_profile("privity")
