"""Steering at work: new pages are analysed beside an import, and links go to the crawler's queue.

`listener` is what an import or a watch hands new pages to; `steering_process`
is the process behind it, and `archive_run` goes through what an archive
holds. Both drive a `SteeringRun`, which keeps `analysis_process`es busy and
writes what they found with a `ScoreWriter`.
"""
