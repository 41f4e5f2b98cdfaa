"""Work on one machine or many: shards, whose results are files, on engines that others maintain.

shards     a shard's result and its file, and the work of one process: shard after shard
content    programs and other large bytes, which travel by digest
policies   policies that are files, on their way to other machines
run        the loop: what is missing, in batches; what a dead process lost, again; failures at the end
executor   an engine as an executor, which lower rooms take as an argument
engines    the engines by name: local, slurm, submitit, ray, ray://ADDRESS; their options
local      worker processes of this machine
evaluating comparisons of methods, a program at a time
slurm      SLURM's job arrays, by submitit; or its local executor
on_ray     Ray's tasks
ranks      the ranks of DD-PPO, which begin again together if one is lost
actors     the actors of asynchronous PPO, and its learner's connections to them
training   trainings by their configurations, in as many processes as asked for
batch_job  a training as a job of SLURM, which is queued again until it ends
"""
