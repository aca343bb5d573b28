import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { parseSync } from '@swc/core';
import { proofsPage } from './proofs-page.js';
import { changed } from './rule.js';
import { RULES } from './rules.js';

const read = (file: string) => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');

describe.each(RULES)('the list of rules: $rule', ({ mutants }) => {
  it.each(mutants)('names what stands in $file', (mutant) => {
    expect(changed(read(mutant.file), mutant)).not.toBe(read(mutant.file));
  });

  it.each(mutants)('leaves valid TypeScript in $file', (mutant) => {
    expect(() => parseSync(changed(read(mutant.file), mutant), { syntax: 'typescript' })).not.toThrow();
  });

  it.each(mutants)('names a test of $test.spec', ({ test }) => {
    expect(read(test.spec)).toContain(`'${test.title}'`);
  });
});

it('docs/proofs.md is up to date: npm run proofs', () => {
  expect(read('docs/proofs.md')).toBe(proofsPage(RULES));
});
