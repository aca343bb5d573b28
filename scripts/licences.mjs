// Whether all that users install with our packages has a licence that they may use it by: dependencies, and peers as far as they are installed here.
// It reads package-lock.json, or the lock file that is given.
import { readFileSync } from 'node:fs';

const OURS = ['packages/nest-handlers', 'packages/nest-dq', 'packages/nest-kq'];
/** Ids of SPDX. Whoever adds one has read it. */
const ALLOWED = new Set([
  '0BSD',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'CC0-1.0',
  'ISC',
  'MIT',
  'Python-2.0',
  'Unlicense',
]);

const { packages } = JSON.parse(
  readFileSync(process.argv[2] ?? new URL('../package-lock.json', import.meta.url), 'utf8'),
);

/** Where Node finds a package from another one's folder. Undefined: it is not installed. */
function locate(name, from) {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/')))) {
    const path = `${folder && `${folder}/`}node_modules/${name}`;
    if (packages[path]) return packages[path].link ? packages[path].resolved : path;
    if (folder === '') return undefined;
  }
}

/** `(MIT OR GPL-3.0-only)`, `MIT AND ISC`: one of all that are joined by OR has to do. */
function isAllowed(licence) {
  const options = String(licence)
    .replace(/^\((.*)\)$/, '$1')
    .split(' OR ');
  return options.some((option) => option.split(' AND ').every((id) => ALLOWED.has(id.replace(/[()]/g, ''))));
}

const found = new Set(OURS);
const missing = [];
for (const path of found) {
  const { dependencies, optionalDependencies, peerDependencies } = packages[path];
  const optional = { ...optionalDependencies, ...peerDependencies };
  for (const name of Object.keys({ ...dependencies, ...optional })) {
    const place = locate(name, path);
    if (place) found.add(place);
    else if (!(name in optional)) missing.push(`${name} of ${path} is not in the lock file`);
  }
}
/** Old packages have a list, which is not in the lock file. */
function licenceOf(path) {
  if (packages[path].license) return packages[path].license;
  const { licenses = [] } = JSON.parse(
    readFileSync(new URL(`../${path}/package.json`, import.meta.url), 'utf8'),
  );
  return licenses.map(({ type }) => type).join(' OR ') || 'none';
}
const wrong = Array.from(found)
  .filter((path) => !isAllowed(licenceOf(path)))
  .map(
    (path) =>
      `${path}@${packages[path].version} has licence ${licenceOf(path)}: expected one of ${[...ALLOWED].join(', ')}`,
  );
for (const line of [...missing, ...wrong]) console.error(line);
if (missing.length + wrong.length > 0) process.exitCode = 1;
else console.log(`all ${found.size} packages that users install have allowed licences`);
