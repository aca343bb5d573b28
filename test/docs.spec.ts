import { readFileSync, readdirSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { DQ_ERROR_CODES } from 'nest-dq/src/errors.js';
import { DEFAULT_LOG_LEVELS } from 'nest-dq/src/nest/log-levels.js';
import { OPTION_NAMES } from 'nest-dq/src/nest/options.js';
import { blocksOf, compact } from './support/page.js';

const read = (path: string) => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8');

const docs = readdirSync(new URL('../docs', import.meta.url)).filter((name) => name.endsWith('.md'));
const PAGES = ['README.md', 'CONTRIBUTING.md', ...docs.map((name) => `docs/${name}`)];

/** The first column of all tables of a page, where it is one piece of code. */
function namedInTables(page: string): Set<string> {
  return new Set([...page.matchAll(/^\| `([^`]+)` +\|/gm)].map((match) => match[1]!));
}

describe('the documentation', () => {
  it('says of each error code what to do, and of none that does not exist', () => {
    expect(namedInTables(read('docs/errors.md'))).toEqual(new Set(DQ_ERROR_CODES));
  });

  it('lists each option of the module', () => {
    const [, options] = read('README.md').split('## Options of `DqModule.forRoot`');
    expect(namedInTables(options!.split('\n## ')[0]!)).toEqual(new Set(OPTION_NAMES));
  });

  it('says of each kind of log line its level', () => {
    const [, log] = read('docs/configuration.md').split('## The log');
    const rows = [...log!.split('\n## ')[0]!.matchAll(/^\| `(\w+)` .*\| `'(\w+)'` +\|$/gm)];
    expect(Object.fromEntries(rows.map(([, kind, level]) => [kind, level]))).toEqual(DEFAULT_LOG_LEVELS);
  });

  it('has no link to a file that is not there', () => {
    for (const page of PAGES) {
      for (const [, target] of read(page).matchAll(/\]\((?!https?:)([^)#]+)/g)) {
        expect(() => readFileSync(new URL(target!, new URL(`../${page}`, import.meta.url)))).not.toThrow();
      }
    }
  });

  it.each(docs)('leads from the README to %s', (page) => {
    expect(read('README.md')).toContain(`(docs/${page})`);
  });

  it.each(['from-bullmq', 'from-go-queue'])('has in %s only code of ours that is compiled', (page) => {
    const compiled = compact(read(`test/moving/${page}.ts`));
    const ours = blocksOf(read(`docs/${page}.md`)).filter((code) => !code.startsWith('// BullMQ'));
    expect(ours.length).toBeGreaterThan(0);
    for (const code of ours) expect(compiled).toContain(compact(code.replace(/^\/\/ .*\n/, '')));
  });
});
