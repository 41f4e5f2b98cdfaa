"""A portfolio of sequences, and which of them pays on what: the policies that come with burnish.

policy: in use, without torch. All else is its training, stage by stage (training, plan):

- costs: a table of what traces cost on programs, each measured in a worker process (measure);
- evolve: a portfolio is evolved on many programs (portfolio, candidates, prior), chosen greedily (cover);
- suffixes: what to try at single functions behind the best of it;
- network: which programs gain by the same sequences; seconds: what the sequences take.
"""
