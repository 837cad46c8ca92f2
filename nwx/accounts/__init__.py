"""Accounts of people who use the pages: names, roles, passwords, sessions, limits of logins."""
