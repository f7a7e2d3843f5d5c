"""A model among people: percentiles and ratings, where a benchmark brings results of people."""
