"""User accounts of the pages: names, roles, passwords, sessions, limits of logins."""
