"""From a data file to a model in use: what `widemargin train` does without `--model`."""
