"""Compare models with people: percentiles and ratings, if a benchmark contains results of people."""
