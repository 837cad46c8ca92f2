"""The page of access rules, for administrators."""
