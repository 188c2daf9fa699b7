"""Speed, as ratios to rivals measured in the same run. One file a question, one adapter a rival."""
