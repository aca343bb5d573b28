// Adds the API reference to the built site, then fails if a link, image or anchor in any of its own pages leads nowhere.
import { cpSync, existsSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const dist = fileURLToPath(new URL('.vitepress/dist', import.meta.url));
const base = process.env.SITE_BASE || '/';
cpSync(fileURLToPath(new URL('../reference', import.meta.url)), join(dist, 'reference'), { recursive: true });

const pages = readdirSync(dist, { encoding: 'utf8', recursive: true }).filter((path) =>
  path.endsWith('.html'),
);
const html = new Map(pages.map((path) => [path, readFileSync(join(dist, path), 'utf8')]));
const ids = new Map(
  Array.from(html, ([path, text]) => [
    path,
    new Set(Array.from(text.matchAll(/ id="([^"]*)"/g), ([, id]) => id)),
  ]),
);

const dead = [];
let count = 0;
for (const [page, text] of html) {
  if (page.startsWith('reference/') || page === '404.html') continue; // typedoc checks its own
  for (const [, link] of text.matchAll(/ (?:href|src)="([^"]*)"/g)) {
    const url = new URL(link.replaceAll('&amp;', '&'), `http://site${base}${page}`);
    if (url.origin !== 'http://site') continue;
    count += 1;
    const path = decodeURI(url.pathname);
    let file = path.startsWith(base) ? path.slice(base.length) : path;
    if (file === '' || file.endsWith('/')) file += 'index.html';
    const hash = decodeURIComponent(url.hash.slice(1));
    if (!path.startsWith(base) || !existsSync(join(dist, file)) || !statSync(join(dist, file)).isFile()) {
      dead.push(`${page}: no ${link}`);
    } else if (hash && ids.has(file) && !ids.get(file).has(hash)) dead.push(`${page}: no anchor ${link}`);
  }
}
for (const line of dead) process.stderr.write(`${line}\n`);
if (dead.length > 0) process.exitCode = 1;
else process.stdout.write(`${count} links of ${html.size} pages lead somewhere\n`);
