"""What draws of a partition say: similarity, consensus, credible ball, certainty, summaries."""
