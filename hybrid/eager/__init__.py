"""Arrays computed step by step: storage, dispatch, the tape and the way back, sparse arrays, graphs called as operators."""
