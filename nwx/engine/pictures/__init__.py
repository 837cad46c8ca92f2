"""Where an engine keeps the images of an archive, with what pages say of them."""
