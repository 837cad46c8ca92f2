"""Who uses the pages: logins, guards on what writes, the page of access rules."""
