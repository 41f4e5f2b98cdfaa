"""The drop-in compilers: clang's own build, then smaller objects if burnish finds them.

clang runs the whole command first, unchanged. Diagnostics, dependency files, exit codes and objects are its
own, and stay valid whatever happens afterwards. Then burnish makes each object of a -Os or -Oz compilation
again, from the same `clang -cc1` line with burnish's passes in the middle. The new object replaces clang's
only if it is smaller.

    jobs              the jobs of a command, as clang -### prints them
    refusals          compilations that burnish leaves alone, and the reasons
    requests          requests to the optimizer, and its answers
    file_budget       the time limit for one file
    shares            the shares of a build's files in its budget
    too_small         files and functions that are too small to gain
    compiling         one command: clang, then the rest
    objects           the objects that it wrote
    compile_and_link  the objects that it wrote and linked at once
    improve           one object: front end, optimizer, code generation, comparison
    outcomes          the outcome for each object
    optimizer         burnish's search, for one object
    remembered        results of earlier builds for similar objects
    inlined           answers of a policy to clang's inliner
    machine_code      the code of an object's functions, by burnish's back end
    back_end          the options of the back end, from clang's command line
    server            the fork server: it has imported all of this, for the next file
    guard             the optimizer in a child process that may crash or hang
    symbols           symbols that an object offers to the linker, or may take from another
    copies            functions that several objects define
    groups            functions that only inline functions use, which go with them
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
