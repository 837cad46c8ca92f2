"""Users of the pages: logins, guards of routes that write, the page of access rules."""
