// Puts the README, the changelog and the licence of the workspace into the package that is packed from here.
import { copyFileSync } from 'node:fs';

for (const name of ['README.md', 'CHANGELOG.md', 'LICENSE'])
  copyFileSync(new URL(`../${name}`, import.meta.url), name);
