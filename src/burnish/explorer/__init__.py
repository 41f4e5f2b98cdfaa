"""The page in the browser that shows a compiler at work: burnish explore."""
