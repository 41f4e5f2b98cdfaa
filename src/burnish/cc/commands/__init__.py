"""The commands of the drop-in compilers: cc, c++, rustc, link, report."""
