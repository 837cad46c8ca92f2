"""What all pages share: context, parameters, words, errors, preferences."""
