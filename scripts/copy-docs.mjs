// Puts the workspace's documents into the package that is packed from here, so that the README's links lead somewhere.
import { cpSync, rmSync } from 'node:fs';

rmSync('docs', { recursive: true, force: true }); // pages that are gone would be packed, too
for (const name of ['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'LICENSE', 'docs']) {
  cpSync(new URL(`../${name}`, import.meta.url), name, { recursive: true });
}
