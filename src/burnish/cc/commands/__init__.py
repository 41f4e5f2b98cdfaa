"""The commands of the drop-in compilers: cc, c++, link, report."""
