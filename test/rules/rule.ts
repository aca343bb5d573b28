// A rule, and the functions with which the lists in this folder describe it.

/** A rule that a promise of the library needs. */
export interface Rule {
  /** One sentence. */
  readonly rule: string;
  readonly mutants: readonly Mutant[];
}

/** One implementation of a rule taken out of the source, and the test that fails without it. */
export interface Mutant {
  /** The path from the root of the repository. */
  readonly file: string;
  /** The text to replace. It occurs in the file exactly once. */
  readonly from: string;
  readonly to: string;
  readonly test: NamedTest;
}

export interface NamedTest {
  /** The path from the root of the repository. */
  readonly spec: string;
  /** The title in the source. A title with `%i` or `%s` means all rows of its table. */
  readonly title: string;
  /** For a test of the contract suite, which runs with each ledger: the ledger. */
  readonly ledger?: 'memory' | 'Redis';
}

type Change = readonly [file: string, from: string, to: string];

const LIBRARY = 'packages/nest-dq/src';

/** Changes in the library that all make the same unit test fail. The paths start at the src of the library. */
export function unit(spec: string, title: string, ...changes: readonly Change[]): Mutant[] {
  return changes.map((change) => mutant(change, { spec: `${LIBRARY}/${spec}`, title }));
}

/** The same rule in the memory ledger and in Redis. The paths start at src/ledger. */
export function contract(spec: string, title: string, inMemory: Change, inRedis: Change): Mutant[] {
  return [...inMemoryOnly(spec, title, inMemory), ...inRedisOnly(spec, title, inRedis)];
}

export function inMemoryOnly(spec: string, title: string, [file, from, to]: Change): Mutant[] {
  const test = { spec: `test/contract/${spec}`, title, ledger: 'memory' } as const;
  return [mutant([`ledger/${file}`, from, to], test)];
}

export function inRedisOnly(spec: string, title: string, [file, from, to]: Change): Mutant[] {
  const test = { spec: `test/contract/${spec}`, title, ledger: 'Redis' } as const;
  return [mutant([`ledger/${file}`, from, to], test)];
}

/** Changes that only a test with a real server shows. */
export function server(spec: string, title: string, ...changes: readonly Change[]): Mutant[] {
  return changes.map((change) => mutant(change, { spec: `test/contract/${spec}`, title }));
}

/** Changes that only a test of whole processes on real servers shows. */
export function failing(spec: string, title: string, ...changes: readonly Change[]): Mutant[] {
  return changes.map((change) => mutant(change, { spec: `test/failure/${spec}`, title }));
}

function mutant([file, from, to]: Change, test: NamedTest): Mutant {
  return { file: `${LIBRARY}/${file}`, from, to, test };
}

/** The source with the change. Throws if the text to replace is not there exactly once. */
export function changed(source: string, { file, from, to }: Pick<Mutant, 'file' | 'from' | 'to'>): string {
  const parts = source.split(from);
  if (parts.length !== 2)
    throw new Error(`${file} must have this text once, but has it ${parts.length - 1} times: ${from}`);
  return parts.join(to);
}

/** A pattern that matches the full names of the tests that are meant, and no others. */
export function namePattern({ title, ledger }: NamedTest): string {
  const rows = title.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace(/%[a-z]/g, '.*');
  const where = ledger === undefined ? '' : `the ledger in ${ledger} (?!Cluster )`;
  return `^${where}(.* )?${rows}$`;
}
