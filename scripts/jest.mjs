// Runs Jest on the current folder: the whole repository, or a workspace. Nest 12 is ESM only, so Jest needs Node's vm modules.
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const path = (relative) => fileURLToPath(new URL(relative, import.meta.url));
const child = spawn(
  process.execPath,
  [
    '--experimental-vm-modules',
    '--disable-warning=ExperimentalWarning',
    path('../node_modules/jest/bin/jest.js'),
    '--config',
    path('./jest.config.mjs'),
    '--rootDir',
    process.cwd(),
    ...process.argv.slice(2),
  ],
  { stdio: 'inherit' },
);
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal));
child.on('exit', (code, signal) => process.exit(code ?? (signal ? 1 : 0)));
