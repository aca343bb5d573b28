// Sets the owner of the GitHub repository in every link to it: npm run owner -- acme
// `repository` in the root package.json says who it is until then.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const [owner = '', ...rest] = process.argv.slice(2);
if (!/^[a-z\d](?:-?[a-z\d]){0,38}$/i.test(owner) || rest.length > 0) {
  console.error(`usage: npm run owner -- <the GitHub user or organization>, got ${JSON.stringify(owner)}`);
  process.exit(2);
}

process.chdir(fileURLToPath(new URL('..', import.meta.url)));
const { repository } = JSON.parse(readFileSync('package.json', 'utf8'));
const [, current] = /^https:\/\/github\.com\/([^/]+)\/nest-dq$/.exec(repository);
const link = new RegExp(`\\bgithub\\.com/${current}/nest-dq(?![\\w-])`, 'g');

const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
  encoding: 'utf8',
  maxBuffer: 2 ** 28,
});
let links = 0;
for (const path of new Set(listed.split('\0').slice(0, -1))) {
  const text = readFileSync(path, 'latin1'); // keeps the bytes of files that aren't text
  const changed = text.replace(link, () => {
    links += 1;
    return `github.com/${owner}/nest-dq`;
  });
  if (changed !== text) writeFileSync(path, changed, 'latin1');
}
console.log(`${links} links now name ${owner} instead of ${current}`);
