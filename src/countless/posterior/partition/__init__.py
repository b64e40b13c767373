"""Posterior answers from draws of one partition: similarity, consensus, credible ball, certainty, summaries."""
