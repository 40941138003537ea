"""All loops over documents, compiled, and the threads that run them."""
