"""The policies that come with burnish, one file and its card each: TASK-OBJECTIVE.npz."""
