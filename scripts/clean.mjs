// Removes the folder named on the command line, so that a build never ships a file whose source is gone.
import { rmSync } from 'node:fs';

rmSync(process.argv[2], { recursive: true, force: true });
