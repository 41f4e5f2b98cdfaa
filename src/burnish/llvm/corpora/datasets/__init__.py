"""Datasets of the literature, imported from a user's files.

table (datasets.toml): an entry each; programs: from files to modules; runs: commands and inputs of those that
run; import_files: the import and its manifest; names: burnish's and CompilerGym's.
"""
