"""Interactive work on one program: a tree of states, for people and for language models.

changes       the differences of two states' texts
comparisons   the texts, diagrams and sites' costs of two states
exports       a state in other forms: commands, results, files
exploration   the states of one program, each opened again when it is needed
features      named numbers before and after some actions
folders       paths that may be read and written
pictures      two states' diagrams in one picture, laid out by graphviz
mcp_server    explorations for language models, by the Model Context Protocol
predictions   a policy's probabilities and predicted costs in one state
runs          trainings and results on disk
runs_server   the page of finished runs: JSON for page/
server        the page of burnish explore: JSON for page/
shell         the commands of burnish shell
state_tree    the tree that the page shows
stoppable     work in a thread that ends early when it is asked to
"""
