"""Speed, as ratios to other libraries measured in the same run.

There is one file per question and one adapter per library.
"""
