"""Being here lets the tests in this folder and below import the modules beside this file."""
