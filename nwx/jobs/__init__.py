"""Jobs: the work that sorts, groups or reads everything, on Spark, with the same results."""
