"""Jobs on a real Spark: two executors in processes of their own."""
