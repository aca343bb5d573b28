// Puts documents of the workspace, by their names, into the package that is packed from here, so that its links lead somewhere.
// Several processes may pack one package at once: none of them may find a document missing or half written.
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const workspace = fileURLToPath(new URL('..', import.meta.url));
/** Not among what is packed. */
const DRAFT = `.draft-${process.pid}`;

/** Makes a file or a folder the same as another; touches nothing that already is. */
function mirror(from, to) {
  if (statSync(from).isDirectory()) {
    const names = readdirSync(from);
    mkdirSync(to, { recursive: true });
    for (const name of readdirSync(to)) {
      // pages that are gone would be packed, too
      if (!names.includes(name)) rmSync(join(to, name), { recursive: true, force: true });
    }
    for (const name of names) mirror(join(from, name), join(to, name));
    return;
  }
  const bytes = readFileSync(from);
  if (existsSync(to) && readFileSync(to).equals(bytes)) return;
  writeFileSync(DRAFT, bytes);
  renameSync(DRAFT, to);
}

for (const name of process.argv.slice(2)) mirror(join(workspace, name), name);
