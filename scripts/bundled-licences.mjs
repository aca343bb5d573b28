// The licences of the packages that a bundle contains.
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

/** Text with the licences of all packages that these files of `node_modules` belong to. */
export function licencesOf(files) {
  const names = files.map((file) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file)?.[1]);
  return [...new Set(names.filter((name) => name !== undefined))]
    .toSorted((a, b) => (a < b ? -1 : 1))
    .map((name) => `${name}\n\n${licenceOf(name)}\n`)
    .join('\n----\n\n');
}

function licenceOf(name) {
  for (const path of createRequire(import.meta.url).resolve.paths(name)) {
    const folder = join(path, name);
    const file = filesIn(folder).find((each) => /^licen[cs]e(\.(md|txt))?$/i.test(each));
    if (file !== undefined) return readFileSync(join(folder, file), 'utf8').trim();
  }
  throw new Error(`${name} is bundled, and has no licence: expected a file LICENSE`);
}

function filesIn(folder) {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return [];
    throw error;
  }
}
