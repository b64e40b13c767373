"""MixedEffects: regression coefficients of subjects from a mixture of unknown size."""
