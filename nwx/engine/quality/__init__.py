"""Where an engine keeps how captured pages play, and what monitors of crawls know."""
