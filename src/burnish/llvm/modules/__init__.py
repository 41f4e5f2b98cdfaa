"""One LLVM module as a session: the state that the LLVM tasks and the drop-in compilers share.

module          read, copy and emit a module; run one pass
passes          the actions: LLVM's passes and burnish's own, with their parameters
descriptions    a line on each pass
origin          where a session's module comes from, and the sizes and run times of its reference
session         ModuleSession: actions are passes, sites are functions; baselines: clang's own levels
observations    features, graphs and texts of a module
objectives      the objectives, their limits, and the expected slowdown
listing         the IR and the assembly as people read them, function by function
diagrams        control flow, loops and calls of the IR, as people read them
debug_info      removal of debug information before a search, and its return
parts           the parts of a Task that all LLVM tasks share: files, outputs, checks, settings
"""
