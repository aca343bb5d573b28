// Says how many copies of each entry a process has that is of ES modules and CommonJS both.
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const copies = {};
for (const library of ['nest-handlers', 'nest-dq']) {
  for (const entry of Object.keys(require(`${library}/package.json`).exports)) {
    if (entry.endsWith('.json')) continue;
    const name = entry.replace('.', library);
    const [module, commonjs] = [await import(name), require(name)];
    copies[name] = Object.keys(module).every((key) => module[key] === commonjs[key]) ? 1 : 2;
  }
}
process.stdout.write(JSON.stringify(copies));
