"""What several benchmarks share.

busy        a shard of known length, which leaves a line each time it is executed
programs    the C and C++ files of public packages
cores       fewer cores for a part of a benchmark
kept        rows, each stored as soon as it is measured, and their table
libraries   the options of benchmarks that compile libraries for other machines
makefiles   projects that are built by their own Makefiles
one_thread  one core and one thread for all contenders
rounds      interleaved samples, fewer of slow contenders
rows        a case of a tensor task, measured beside other libraries: a line of JSON, and its ratios
floors      the least required ratios of such cases, and their table
shown       the table of the fastest forms, numbers in cells, and the plot of ratios
"""
