// Bundles the command of the package in this folder: `dist/cli.js`, and `dist/cli/` for what its subcommands load. Unbundled it
// begins by loading some 450 files, which takes longer than most of its work. Node's other packages stay outside, but for rxjs, of
// which it uses a fraction.
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { licencesOf } from './bundled-licences.mjs';

const INSIDE = ['nest-handlers', 'rxjs'];

const { metafile } = await build({
  entryPoints: { cli: 'dist/cli.js' },
  outdir: 'dist',
  allowOverwrite: true,
  chunkNames: 'cli/[name]-[hash]',
  bundle: true,
  splitting: true,
  minifyWhitespace: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  legalComments: 'none',
  metafile: true,
  logLevel: 'warning',
  alias: { rxjs: fileURLToPath(new URL('../node_modules/rxjs/dist/esm/index.js', import.meta.url)) }, // as modules, so that only what is used is taken
  plugins: [{ name: 'outside', setup: leaveOutside }],
});

// The files that were bundled.
const made = new Set(Object.keys(metafile.outputs));
for (const name of readdirSync('dist/cli', { recursive: true, withFileTypes: true })) {
  const path = join(name.parentPath, name.name);
  if (name.isFile() && !made.has(path)) rmSync(path);
}
for (const name of ['dist/cli.js.map', 'dist/cli.d.ts']) rmSync(name, { force: true });
writeFileSync('dist/cli/licences.txt', licencesOf(Object.keys(metafile.inputs)));

function leaveOutside({ onResolve }) {
  onResolve({ filter: /^[^.]/ }, ({ path, kind }) => {
    const isInside =
      path.startsWith('/') || INSIDE.some((name) => path === name || path.startsWith(`${name}/`));
    return kind === 'entry-point' || isInside ? undefined : { path, external: true };
  });
}
