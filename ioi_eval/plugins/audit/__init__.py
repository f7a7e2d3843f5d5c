"""The plugin `audit`: how far the tests of a source of problems can be trusted."""
