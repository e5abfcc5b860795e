"""Steps of a conversion: the network is opened and settled, translated and checked, and the file held against it."""
