"""Whole programs: all units of a link as one module, in place of their objects.

With `burnish cc --whole-program` an object is clang's own, with one more section that no linker loads: the
unit's bitcode from before any pass. A build can use such objects as any others, and the program that clang
links from them is always valid. Then the units that the linker took become one module, which gets burnish's
passes and clang's code generation. The program is linked once more, with this module in place of the units'
objects. The new program is kept if it loads fewer bytes.

    units               a unit in its object: its bitcode, and clang's command for it
    inputs              inputs of a link command that have units, and the units that the linker takes
    link_job            the linker's command, with other inputs
    merging             the units that can be one module; lld decides which symbols must stay
    gnu_link            a link by a GNU compiler for another machine; its own linker decides
    function_variants   the level's own passes, and attributes for the code generator at each function
    program_trials      the trials for one program, and the comparison with the linker's
    foreign             trials for a program of another machine, by burnish's back end
    cross               programs of bitcode for another machine; lld decides, burnish makes the object
    steps               the units of one command, and its link, from the linker's program to the smaller one
"""
