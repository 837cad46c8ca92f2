"""Jobs on a real Spark with two executors in separate processes."""
