// Puts the workspace's documents into the package that is packed from here, so that the README's links lead somewhere.
import { cpSync } from 'node:fs';

for (const name of ['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'LICENSE', 'docs']) {
  cpSync(new URL(`../${name}`, import.meta.url), name, { recursive: true });
}
