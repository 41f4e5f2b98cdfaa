"""Whole programs: all units of a link as one module, in place of their objects.

With `burnish cc --whole-program` an object is clang's own, and a section that no linker loads has the unit's
bitcode from before any pass; a build can use such objects as any others. When clang links them, its program
is always valid. Then the units that the linker took become one module, which gets burnish's passes and
clang's code generation. The program is linked once more, with that module in place of the units' objects. The
new program is kept if it loads fewer bytes.

    unit_records        a unit: its bitcode, and clang's command for it
    embedding           a unit into an object, and out of it
    inputs              inputs of a link command that have units
    probe               the units that the linker takes, as its own output shows
    link_job            the linker's command, with other inputs
    resolve             the units as one module: lld decides which symbols must stay
    admission           which units can be in it, and by whose options its code is generated
    merging             all of that
    relinking           the module's object, and the program with it
    function_variants   the level's own passes, and what the code generator is told of each function
    one_link            one link, from the linker's own program to the smaller one
    clang_lto           clang's own link-time optimization of the same units, for comparison
    commands            one command of the drop-in compilers with --whole-program
"""
