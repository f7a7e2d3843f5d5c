"""Being here lets the tests import the modules beside this file."""
