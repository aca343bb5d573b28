#!/usr/bin/env node
// The command `nest-dq`. It is checked in, and not built, so that npm finds it in a clone, too.
import { existsSync } from 'node:fs';

const program = new URL('../dist/cli.js', import.meta.url);
if (existsSync(program)) {
  await import(program.href);
} else {
  process.stderr.write('nest-dq: this clone is not built yet: run `npx nx run nest-dq:build` first.\n');
  process.exitCode = 1;
}
