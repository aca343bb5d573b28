// Puts documents of the workspace, by their names, into the package that is packed from here, so that its links lead somewhere.
import { cpSync, rmSync } from 'node:fs';

for (const name of process.argv.slice(2)) {
  rmSync(name, { recursive: true, force: true }); // pages that are gone would be packed, too
  cpSync(new URL(`../${name}`, import.meta.url), name, { recursive: true });
}
