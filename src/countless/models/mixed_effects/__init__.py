"""MixedEffects: regression coefficients of subjects whose distribution is a mixture with an unknown number of groups."""
