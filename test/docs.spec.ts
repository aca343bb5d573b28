import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { DQ_ERROR_CODES } from 'nest-dq/src/errors.js';
import { OPTION_NAMES } from 'nest-dq/src/nest/options.js';

const read = (path: string) => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8');

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

  it('has no link to a file that is not there', () => {
    for (const page of [
      'README.md',
      'CONTRIBUTING.md',
      'docs/architecture.md',
      'docs/errors.md',
      'docs/clusters.md',
      'docs/enhancers.md',
      'docs/events.md',
      'docs/guarantees.md',
      'docs/health.md',
      'docs/observability.md',
      'docs/performance.md',
      'docs/schemas.md',
      'docs/scopes.md',
      'docs/testing.md',
    ]) {
      for (const [, target] of read(page).matchAll(/\]\((?!https?:)([^)#]+)/g)) {
        expect(() => readFileSync(new URL(target!, new URL(`../${page}`, import.meta.url)))).not.toThrow();
      }
    }
  });
});
