"""Which missing resources mend most pages when they are captured again."""
