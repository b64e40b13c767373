"""``countless mixed``: what MixedEffects says to the command line."""

COMMAND = None
