"""What a kernel asks of memory and does wrong, read from emulated launches and predicted from the registry."""
