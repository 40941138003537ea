"""Every loop over documents, compiled, and the threads that share them."""
