// Bundles the client of the dashboard into dist/dashboard/client, with the licences of what is bundled, and refuses to grow
// beyond what a slow connection loads at once.
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';

const MOST = 60 * 1024;
const here = dirname(fileURLToPath(import.meta.url));
const to = join(here, '../dist/dashboard/client');
const require = createRequire(import.meta.url);

const { metafile } = await build({
  entryPoints: { dashboard: join(here, 'main.tsx'), chinese: join(here, 'words/chinese.ts') },
  outdir: to,
  bundle: true,
  minify: true,
  format: 'esm',
  charset: 'utf8',
  target: 'es2022',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  legalComments: 'none', // all licences are in one file, below
  metafile: true,
  logLevel: 'warning',
});
cpSync(join(here, 'index.html'), join(to, 'index.html'));
writeFileSync(join(to, 'licences.txt'), licencesOf(packagesIn(Object.keys(metafile.inputs))));

const sizes = ['index.html', 'dashboard.js', 'dashboard.css'].map(
  (name) => gzipSync(readFileSync(join(to, name))).length,
);
const size = sizes.reduce((sum, each) => sum + each, 0);
if (size > MOST)
  throw new Error(`the client of the dashboard has ${size} bytes compressed: expected ${MOST} at most`);

function packagesIn(files) {
  const names = files.map((file) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file)?.[1]);
  return [...new Set(names.filter((name) => name !== undefined))].toSorted((a, b) => (a < b ? -1 : 1));
}

function licencesOf(names) {
  return names
    .map((name) => {
      const folder = require.resolve
        .paths(name)
        .map((path) => join(path, name))
        .find(hasLicence);
      if (folder === undefined) throw new Error(`${name} is bundled, and has no file LICENSE: expected one`);
      return `${name}\n\n${readFileSync(join(folder, 'LICENSE'), 'utf8').trim()}\n`;
    })
    .join('\n----\n\n');
}

function hasLicence(folder) {
  try {
    return readFileSync(join(folder, 'LICENSE')).length > 0;
  } catch (error) {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return false;
    throw error;
  }
}
