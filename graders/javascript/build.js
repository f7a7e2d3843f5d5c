// build.js OUTPUT MAIN [MODULE...]: checks that the interpreter compiles a program, and writes the file that will be run.
//
// A single source is copied unchanged. Several become one program, in which `require` of a relative path finds the
// others.
"use strict";
const fs = require("fs"), path = require("path"), vm = require("vm"), { wrap } = require("module");

const [output, main, ...modules] = process.argv.slice(2);

function readChecked(file) {
  const source = fs.readFileSync(file, "utf8");
  try {
    new vm.Script(wrap(source.replace(/^#!.*/, "")), { filename: file });
  } catch (error) {
    const [location, ...excerpt] = error.stack.split("\n    at ")[0].split("\n");
    process.stderr.write([`${location}: ${error}`, ...excerpt.slice(0, -2), ""].join("\n"));  // the error comes before the excerpt
    process.exit(1);
  }
  return source;
}

// The start of a program with several sources; its text becomes part of that program.
function start(main, sources) {
  const path = require("path"), vm = require("vm"), { wrap } = require("module"), loaded = {};
  function find(name) {
    return [name, `${name}.js`, `${name}/index.js`].find((candidate) => candidate in sources);
  }
  function load(name) {
    if (loaded[name]) return loaded[name].exports;
    const module = (loaded[name] = { exports: {}, id: name, filename: name });
    const requireModule = (request) => {
      const file = /^\.\.?(\/|$)/.test(request) && find(path.posix.join(path.posix.dirname(name), request));
      return file ? load(file) : require(request);
    };
    requireModule.main = loaded[main];
    const compiled = vm.runInThisContext(wrap(sources[name].replace(/^#!.*/, "")), { filename: name });
    compiled.call(module.exports, module.exports, requireModule, module, name, path.posix.dirname(name));
    return module.exports;
  }
  load(main);
}

const first = readChecked(main);
if (modules.length === 0) {
  fs.copyFileSync(main, output);
} else {
  const folder = path.dirname(main), sources = { [path.basename(main)]: first };
  for (const file of modules) sources[path.relative(folder, file)] = readChecked(file);
  fs.writeFileSync(output, `(${start})(${JSON.stringify(path.basename(main))}, ${JSON.stringify(sources)});\n`);
}
