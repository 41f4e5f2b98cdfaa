"""What the comparisons of loop nests and of linalg programs share.

one_thread  one core and one thread for all contenders
rounds      interleaved samples, fewer of slow contenders
rows        a measured case: a line of JSON, and its ratios
floors      the least required ratios, and their table
shown       the table of the fastest forms, numbers in cells, and the plot of ratios
"""
