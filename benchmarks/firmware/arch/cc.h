/* What lwIP asks of a compiler: nothing beyond C. */
