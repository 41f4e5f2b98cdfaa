"""The drop-in compilers: clang's own build, then smaller objects where burnish finds them.

clang runs the whole command first, unchanged: diagnostics, dependency files, exit codes and objects
are its own, and whatever happens afterwards they stay valid. Then each object that a -Os or -Oz compilation
wrote is made again from the same `clang -cc1` line with burnish's passes in the middle, and takes the
place of clang's only where it is smaller.

    jobs              the processes that clang -### says it would start
    refusals          which compilations burnish leaves alone, and why
    requests          what is asked of the optimizer, and its answers
    file_budget       how long it may take for one file
    shares            how the files of a build share its budget
    too_small         files and functions that are too small to gain
    compiling         one command: clang, then the rest
    objects           the objects that it wrote
    compile_and_link  the objects that it wrote and linked at once
    improve           one object: front end, optimizer, code generation, comparison
    outcomes          how each object came out
    optimizer         burnish's search, for one object
    remembered        what earlier builds found for objects like it
    inlined           answers of a policy to clang's inliner
    machine_code      the code of its functions, by burnish's back end
    back_end          the options of the back end, from clang's command line
    server            a process that has imported all of this, for the next file
    guard             the optimizer in a child process that may crash or hang
    copies            functions that several objects define
    groups            functions that inline functions alone use, which go with them
    processes         clang as a child, signals
    build_log         one line for each object
    build_summary     the sums of the last builds
    linked            the sections that a linked program loads
    advice            options that would make a linked program smaller, each measured
    linking           the linker's command, with other options and objects
    remaking          an object of the build log, compiled with other options
    link/             whole programs: all units of a link as one module
    commands/         cc, c++, link, report
"""
