"""One representative solution of many draws: by expected loss, and as von Looz (2013, 4.3) has it."""
