"""Programs are compiled anew, not found on disk. How many examples hypothesis takes: few and always the same; with
--hypothesis-profile=thorough many and new ones; or as many new ones as TENON_EXAMPLES says."""

import os

from hypothesis import HealthCheck, settings

os.environ["TENON_CACHE"] = "off"
FEW = os.environ.get("TENON_EXAMPLES")
settings.register_profile("few", max_examples=int(FEW or 8), deadline=None, suppress_health_check=list(HealthCheck),
                          derandomize=FEW is None)
settings.register_profile("thorough", max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
settings.load_profile("few")
