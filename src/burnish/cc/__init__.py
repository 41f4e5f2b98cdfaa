"""The drop-in compilers: clang's own build, then smaller objects if burnish finds them.

clang runs the whole command first, unchanged. So diagnostics, dependency files, exit codes and objects are
clang's own, and stay valid if burnish fails. Then burnish makes each object of a -Os or -Oz compilation
again, from the same `clang -cc1` line with burnish's passes in the middle. The new object replaces clang's
only if it is smaller. Where burnish is known to make clang's object, too, clang runs the front end alone.

    jobs              the processes that clang would start, as clang -### prints them
    refusals          compilations that burnish leaves to clang, and the least size to gain
    profiles          profiles of earlier runs that a compilation uses
    requests          the user's options, the requests to the optimizer, and its answers
    file_budget       the time limit for one file
    shares            one budget for all files of a build
    outcomes          the inputs of each step after clang, and the outcome for each object and program
    objects           the objects of a command, or the program that it compiled and linked at once
    direct            one object of which clang runs the front end alone
    known_plans       the jobs of a command's last object, once more
    object_kind       the options that reach the back end: where burnish is known to make clang's objects
    improve           one object: front end, searches
    object_trials     the trials for one object, and the comparison with clang's
    cold_trials       trials with a profile; at levels for speed, of cold functions alone
    gnu               a GNU compiler for another machine: what clang is told for the same objects
    stack_usage       the file of -fstack-usage, for objects by burnish's own back end
    foreign           objects for such a machine: by burnish's back end, compared with the GNU compiler's
    cross             commands for machines that clang's package cannot make code for: burnish makes it
    own_trials        the trials for these: by burnish's back end alone
    rustc             a command line of rustc: its objects, and the reasons to leave them to rustc
    rust              a crate: rustc once more for its bitcode, archives and programs with smaller objects
    rust_trials       the trials for an object of rustc
    wasm_link         a linked WebAssembly module after binaryen's passes
    variants          a short search for one object: variants of its functions
    short_search      variants of all functions at once, then the best variant of each function
    variations        further passes and decisions, other ones at each function
    prior_variants    the variants to try first, by machine
    trials            passes first, then the machine code of the best module
    optimizer         burnish's search of passes, after a policy's answers to clang's inliner
    searching         one search, or a result of earlier builds for a similar object
    machine_code      the code of an object's functions, by burnish's back end
    back_end          objects by burnish's back end, with the options of clang's command
    server            the fork server: it has imported what files need
    isolation         the optimizer in a child process, because it may crash or hang
    command_key       the key of a compilation: its command, and burnish's options
    kept              objects of earlier builds, in a SQLite file
    memory_file       that file as a whole: what it has, and another one merged into it
    recalling         objects and programs that a build takes from there, and keeps there
    repeating         a trace of an earlier build once more
    improving         more search for remembered objects and programs, in the background
    improving_step    one such search
    lock              burnish.lock: the trace of each object and program, for the same on every machine
    copies            functions that several objects define
    processes         clang as a child, signals
    build_log         one line for each object
    build_summary     the sums of the last builds
    linked            the sections that a linked program loads
    advice            options that would make a linked program smaller, each measured
    remaking          a build made again with other options: an object of the build log, and the link
    link/             whole programs: all units of a link as one module
    commands/         cc, c++ and rustc, from the command line to the compiler and after it; improve, link,
                      lock, memory, report
"""
