// Bundles the client of the dashboard into dist/dashboard/client, with the licences of what is bundled. What a browser loads at
// once may not grow beyond what a slow connection can take; the other pages are in files of their own, whose names change with
// what is in them.
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { dirname, join, relative, resolve } from 'node:path';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { licencesOf } from '../../../scripts/bundled-licences.mjs';

const MOST = 60 * 1024;
const here = dirname(fileURLToPath(import.meta.url));
const to = join(here, '../dist/dashboard/client');
const PAGES = 'pages';

rmSync(to, { recursive: true, force: true });
const { metafile } = await build({
  entryPoints: { dashboard: join(here, 'main.tsx') },
  outdir: to,
  chunkNames: `${PAGES}/[name]-[hash]`,
  bundle: true,
  splitting: true,
  minify: true,
  format: 'esm',
  charset: 'utf8',
  target: 'es2022',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  legalComments: 'none', // all licences are in one file, below
  external: ['node:*'], // in modules of which nothing is used, and so nothing is bundled
  metafile: true,
  logLevel: 'warning',
});
const scripts = loadedWith('dashboard.js');
const preloads = scripts.slice(1).map((path) => `<link rel="modulepreload" href="${path}" />`);
const html = readFileSync(join(here, 'index.html'), 'utf8');
writeFileSync(join(to, 'index.html'), html.replace('</head>', `  ${preloads.join('\n    ')}\n  </head>`));
writeFileSync(join(to, 'licences.txt'), licencesOf(Object.keys(metafile.inputs)));

const sizes = ['index.html', 'dashboard.css', ...scripts].map(
  (name) => gzipSync(readFileSync(join(to, name))).length,
);
const size = sizes.reduce((sum, each) => sum + each, 0);
if (size > MOST)
  throw new Error(`the client of the dashboard has ${size} bytes compressed: expected ${MOST} at most`);

/** The scripts that one imports statically, itself first. */
function loadedWith(script) {
  const outputs = new Map(Object.entries(metafile.outputs).map(([path, output]) => [resolve(path), output]));
  const found = new Set([script]);
  for (const path of found)
    for (const { kind, path: imported } of outputs.get(join(to, path)).imports)
      if (kind === 'import-statement') found.add(relative(to, resolve(imported)));
  return [...found];
}
