"""Steering of a crawl: new and stored pages are analysed, their links sent to the crawler's queue.

An import or a watch passes new pages to a `SteeringListener`, which starts `steering_process`;
`steer_archive` reads the pages of an archive. Both run a `SteeringRun`, which analyses pages in
an `AnalysisPool` and writes the results with a `ScoreWriter`.
"""
