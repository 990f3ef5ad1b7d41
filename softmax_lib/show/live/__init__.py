"""What needs a running kernel behind the page: the block-size explorer and %%cuda cells."""
