// What a rule is, and how the lists beside this file write one down.

/** A rule that a promise of the library rests on. */
export interface Rule {
  /** One sentence. */
  readonly rule: string;
  readonly mutants: readonly Mutant[];
}

/** One implementation of a rule taken out of the source, and the test that fails without it. */
export interface Mutant {
  /** From the root of the repository. */
  readonly file: string;
  /** Occurs in the file exactly once. */
  readonly from: string;
  readonly to: string;
  readonly test: NamedTest;
}

export interface NamedTest {
  /** From the root of the repository. */
  readonly spec: string;
  /** As it stands in the source: where a table is told by `%i` or `%s`, all its rows are meant. */
  readonly title: string;
  /** Of the contract suite, which states each fact about every ledger. */
  readonly ledger?: 'memory' | 'Redis';
}

type Change = readonly [file: string, from: string, to: string];

const LIBRARY = 'packages/nest-dq/src';

/** Changes in the library, each of which fails the same test of the library; both files are named from its src. */
export function unit(spec: string, title: string, ...changes: readonly Change[]): Mutant[] {
  return changes.map((change) => mutant(change, { spec: `${LIBRARY}/${spec}`, title }));
}

/** The same rule of the ledger in memory and of the one in Redis, named from src/ledger and src/ledger/redis. */
export function contract(spec: string, title: string, inMemory: Change, inRedis: Change): Mutant[] {
  return [...inMemoryOnly(spec, title, inMemory), ...inRedisOnly(spec, title, inRedis)];
}

export function inMemoryOnly(spec: string, title: string, [file, from, to]: Change): Mutant[] {
  const test = { spec: `test/contract/${spec}`, title, ledger: 'memory' } as const;
  return [mutant([`ledger/${file}`, from, to], test)];
}

export function inRedisOnly(spec: string, title: string, [file, from, to]: Change): Mutant[] {
  const test = { spec: `test/contract/${spec}`, title, ledger: 'Redis' } as const;
  return [mutant([`ledger/redis/${file}`, from, to], test)];
}

/** What only a connection to a server shows. */
export function server(spec: string, title: string, ...changes: readonly Change[]): Mutant[] {
  return changes.map((change) => mutant(change, { spec: `test/contract/${spec}`, title }));
}

function mutant([file, from, to]: Change, test: NamedTest): Mutant {
  return { file: `${LIBRARY}/${file}`, from, to, test };
}

/** `change` made in a source; throws where it fits nowhere, or in two places. */
export function changed(source: string, { file, from, to }: Pick<Mutant, 'file' | 'from' | 'to'>): string {
  const parts = source.split(from);
  if (parts.length !== 2) throw new Error(`${file} has ${parts.length - 1} times, and not once: ${from}`);
  return parts.join(to);
}

/** Matches the full names of the tests that are meant, and no others. */
export function namePattern({ title, ledger }: NamedTest): string {
  const rows = title.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace(/%[a-z]/g, '.*');
  const where = ledger === undefined ? '' : `the ledger in ${ledger} (?!Cluster )`;
  return `^${where}(.* )?${rows}$`;
}
