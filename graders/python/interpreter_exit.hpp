// How a forked interpreter exits: like a started interpreter, but without destroying the objects that it inherited.
// Destroying an object writes to it, and so copies a page that all forked processes share; that was slower than a short
// test.
#pragma once

namespace interpreter_exit {

// Called in the fork server, after all imports.
void prepare_early_exit();

// Called in a forked process, before it runs a script. Not for an archive, whose first frame is not the script's.
void watch_script();

}  // namespace interpreter_exit
