"""The analysis of new and stored pages, and the links that go to the crawler's queue.

An import or a watch hands new pages to a `SteeringListener`, which starts
`steering_process`; `steer_archive` goes through the pages of an archive. Both
run a `SteeringRun`, which has pages analysed by an `AnalysisPool` and writes
the results with a `ScoreWriter`.
"""
