"""Training of sequence-value policies, the kind that comes with burnish: a portfolio, and when each pays.

burnish.policies.sequence_values applies such policies, without torch. Stages of training (training, plan):

- costs: a table of the costs and times of traces on programs, each measured in a worker process;
- evolve: a portfolio of sequences, evolved on many programs (portfolio);
- suffixes: short traces to try at single functions after the portfolio's best sequences;
- network: a distance between programs by their gains.
"""
