// The command `nest-dq`. Exit status: 0 done, 1 it could not be done, 2 wrong arguments; `doctor` has its own.
import { main } from './cli/main.js';

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // The reader of a pipe may have gone, as `head` does. A server goes on all the same, and when a disk is full.
  if (error.code === 'EPIPE') return;
  process.stderr.write(`nest-dq: standard output cannot be written: ${error.message}\n`);
});
process.stderr.on('error', () => undefined); // there is nowhere left to tell it

process.exitCode = await main(process.argv.slice(2));
