"""The inliner's decisions as data: tables of them with what each is worth, and what is learned from those."""
