"""A portfolio of sequences, and which of them pays on what: the policies that come with burnish.

In use, without torch: policy. Its training, by stages: costs (a table of traces on programs), breed (the
portfolio), suffixes (what to try at functions behind it), prior (which action follows which), network (which
programs gain by the same sequences); training is all of them, one after the other.
"""
