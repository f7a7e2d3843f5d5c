// How a forked interpreter exits: like a started interpreter, but without destroying the objects that it inherited.
// Destroying an object writes to it, and so copies a page that all forked processes share; that was slower than a short
// test.
#pragma once

namespace interpreter_exit {

// Called in the fork server, after all imports.
void prepare_early_exit();

// Finds out from now on whether the script changes modules, and when its main code ends. Called in a forked process
// before it runs a script, but not before it runs an archive, whose first frame is not the script's.
void watch_for_script_end();

}  // namespace interpreter_exit
