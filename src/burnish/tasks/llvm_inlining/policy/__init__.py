"""The inliner's decisions as data: tables of decisions with their effects, and policies on such tables."""
