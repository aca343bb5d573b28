// Adds a CommonJS build to the built library in the folder named on the command line: each module again, below `cjs`,
// next to its declarations, which read the same for both. It is for tools that load no ES modules, such as Jest; Node and
// whoever else knows the condition `module-sync` have one copy, the ES modules. No source maps: it reads like its source.
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { transformSync } from '@swc/core';

const from = process.argv[2];
const to = join(from, 'cjs');
const options = {
  swcrc: false,
  sourceMaps: false,
  jsc: { target: 'es2023', parser: { syntax: 'ecmascript' } },
  module: { type: 'commonjs' },
};

// In a package with a command, `cli` is that command, and nobody requires it.
const { bin } = JSON.parse(readFileSync(join(from, '..', 'package.json'), 'utf8'));

rmSync(to, { recursive: true, force: true });
for (const name of readdirSync(from, { recursive: true })) {
  if (!/\.(js|d\.ts)$/.test(name) || (bin && /^cli\b/.test(name))) continue;
  const source = readFileSync(join(from, name), 'utf8').replace(/\n\/\/# sourceMappingURL=.*\n?$/, '\n');
  mkdirSync(dirname(join(to, name)), { recursive: true });
  writeFileSync(join(to, name), name.endsWith('.js') ? transformSync(source, options).code : source);
}
writeFileSync(join(to, 'package.json'), '{ "type": "commonjs" }\n');
