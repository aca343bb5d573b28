#!/usr/bin/env node
// The command `nest-kq`. It is checked in, and not built, so that npm finds it in a clone, too.
import { existsSync } from 'node:fs';

const program = new URL('../dist/cli.js', import.meta.url);
if (existsSync(program)) {
  await import(program.href);
} else {
  process.stderr.write('nest-kq: this clone is not built yet: run `npx nx run nest-kq:build` first.\n');
  process.exitCode = 1;
}
