"""Whole programs: all units of a link as one module, in the place of their objects.

With `burnish cc --whole-program` an object is clang's own, with the unit's bitcode from before any pass in a
section that no linker loads; whatever a build does with objects it can do with these. Where clang links them,
its program stands, and is always valid. Then the units that the linker took become one module, which gets
burnish's passes and clang's code generation, and the program is linked once more with that in the place of
their objects. It is kept where it loads fewer bytes.

    unit_records        a unit: bitcode, and how clang compiled it
    embedding           a unit into an object, and out of it
    inputs              what a link command links that has units
    probe               which of these the linker took, by its own word
    link_job            the linker's command, with other inputs
    resolve             the units as one module: lld decides which symbols must stay
    admission           which units cannot be in it
    merging             all of that
    generate            the module's object
    module_candidates   what is made of the module: the level's own passes, then a search
    link_requests       what is asked of the search
    relinking           the program with the module's object
    function_variants   what the code generator is told of each function
    one_link            one link, from the linker's own program to the smaller one
    clang_lto           clang's own link-time optimization of the same units, to compare with
    commands            one command of the drop-in compilers with --whole-program
"""
