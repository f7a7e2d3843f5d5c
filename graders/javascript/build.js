// build.js OUTPUT MAIN [MODULE...]: hands over what is run, if the interpreter that will run it takes it.
//
// One source is handed over byte for byte; several become one program that has them all, in which `require` of a
// relative path finds them.
"use strict";
const fs = require("fs"), path = require("path"), vm = require("vm"), { wrap } = require("module");

const [output, main, ...modules] = process.argv.slice(2);

function checked(file) {
  const source = fs.readFileSync(file, "utf8");
  try {
    new vm.Script(wrap(source.replace(/^#!.*/, "")), { filename: file });
  } catch (error) {
    const [place, ...shown] = error.stack.split("\n    at ")[0].split("\n");
    process.stderr.write([`${place}: ${error}`, ...shown.slice(0, -2), ""].join("\n"));  // what is wrong comes first
    process.exit(1);
  }
  return source;
}

// Part of the program that is made of several sources.
function start(main, sources) {
  const path = require("path"), vm = require("vm"), { wrap } = require("module"), loaded = {};
  function find(name) {
    return [name, `${name}.js`, `${name}/index.js`].find((each) => each in sources);
  }
  function load(name) {
    if (loaded[name]) return loaded[name].exports;
    const module = (loaded[name] = { exports: {}, id: name, filename: name });
    const own = (wanted) => {
      const found = /^\.\.?(\/|$)/.test(wanted) && find(path.posix.join(path.posix.dirname(name), wanted));
      return found ? load(found) : require(wanted);
    };
    own.main = loaded[main];
    const called = vm.runInThisContext(wrap(sources[name].replace(/^#!.*/, "")), { filename: name });
    called.call(module.exports, module.exports, own, module, name, path.posix.dirname(name));
    return module.exports;
  }
  load(main);
}

const first = checked(main);
if (modules.length === 0) {
  fs.copyFileSync(main, output);
} else {
  const folder = path.dirname(main), sources = { [path.basename(main)]: first };
  for (const file of modules) sources[path.relative(folder, file)] = checked(file);
  fs.writeFileSync(output, `(${start})(${JSON.stringify(path.basename(main))}, ${JSON.stringify(sources)});\n`);
}
