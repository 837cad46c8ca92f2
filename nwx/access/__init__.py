"""Archives restricted to what a viewer may see; the accounts and logins of users."""
