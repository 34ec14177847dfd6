"""How many examples hypothesis takes: few and always the same, or with --hypothesis-profile=thorough many and new ones."""

from hypothesis import HealthCheck, settings

settings.register_profile("few", max_examples=8, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
settings.register_profile("thorough", max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
settings.load_profile("few")
