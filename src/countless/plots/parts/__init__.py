"""Parts that figures share: the fit behind them, style, planes, marginals, the pick of rows."""
