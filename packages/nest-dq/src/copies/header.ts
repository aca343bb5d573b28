import type { StoredTube } from '../api/tube.js';
import type { WrittenCopies } from '../cluster/cluster.js';
import type { DqError } from '../errors.js';
import type { OwedCopies } from '../ledger/requests.js';
import type { ResolvedBackoff } from '../time/backoff.js';
import type { Place } from './location.js';
import type { Content } from './payload.js';

/** One generation of a job. */
interface Generation {
  readonly id: string;
  /** Ledger time in ms. */
  readonly due: number;
  /** 0 for the first generation of a plain job. */
  readonly generation: number;
  /** Generation of the add. Differs from `generation` if the job was moved since. @default the generation */
  readonly born?: number;
  /** Number of copies planned. */
  readonly copies: number;
}

/** Options that a job keeps in every generation. */
interface KeptOptions {
  /** The user's name for the job. */
  readonly key?: string;
  /** 0 high, 1 normal, 2 low. */
  readonly priority: number;
  readonly attempts?: number;
  readonly backoff?: ResolvedBackoff;
  readonly headers?: Readonly<Record<string, string>>;
  /** Group whose concurrent runs the handler's `perGroup` limits. */
  readonly group?: string;
  /** When it expires: see `startByOf` in expiry.ts. */
  readonly expires?: number;
}

/** Header fields shared by all copies of a job. */
export interface JobHeader extends Generation, KeptOptions {}

/** Header of one copy: its job's fields and its own. */
export interface CopyHeader extends JobHeader {
  readonly born: number;
  /** 0 is the primary. Always 0 for copies of another program. */
  readonly index: number;
  /** For the primary: the other copies, including puts with an unknown outcome. */
  readonly siblings: readonly Place[];
  /** The ledger's id of the group, if the copy hides it. @default the group */
  readonly groupId?: string;
  /** Set if it is stored in another program's format. @default ours */
  readonly foreign?: ForeignFormat;
}

/** The facts missing from a copy in another program's format, since all copies of its job are identical. */
export interface ForeignFormat {
  /** Returns the index of the copy on this node. */
  indexOn(node: { readonly rank: number }): number;
  /** Returns the copies that may exist on this many nodes. */
  owedOn(nodes: number): OwedCopies;
  /** Returns the error for moving a job, whose time is fixed. */
  cannotMove(id: string): DqError;
}

/** A copy named in a reference of another program. */
export interface NamedCopy {
  readonly endpoint: string;
  readonly tube: StoredTube;
  readonly copyId: string;
}

/** Identifies the job and generation of a copy. */
export type JobIdentity = Pick<CopyHeader, 'id' | 'due' | 'generation' | 'born'>;

/** A parsed copy. */
export interface Envelope {
  readonly header: CopyHeader;
  readonly content: Content;
}

/** A job in its storage format. */
export interface WrittenJob extends WrittenCopies {
  readonly job: JobHeader;
  readonly content: Content;
  /** Returns the same job with another number of copies, or as another generation. */
  with(copies: number, generation?: number): WrittenJob;
  /**
   * Returns an upper bound for the size of a copy, in bytes, with at most `mostSiblings` siblings at places of at most
   * `longestLocation` bytes. Also holds for later generations, so that a stored job can always be moved, repaired and revived.
   */
  largestCopy(mostSiblings: number, longestLocation: number): number;
}

/** Returns the header of a generation. By hand: `{ ...options }` takes ten times as long. */
export function jobHeader(
  { id, due, generation, born, copies }: Generation,
  { key, priority, attempts, backoff, headers, group, expires }: KeptOptions,
): JobHeader {
  return {
    id,
    due,
    generation,
    born,
    key,
    copies,
    priority,
    attempts,
    backoff,
    headers,
    group,
    expires,
  } satisfies Record<keyof JobHeader, unknown>;
}

/** Returns the same job with another number of copies, or as another generation. */
export function headerWith(job: JobHeader, copies: number, generation: number): JobHeader {
  const { id, due, born } = job;
  return jobHeader({ id, due, generation, born, copies }, job);
}

/** Returns whether it is this very copy: a server's copy ids are not unique, they start over when it loses its log. */
export function isCopyOf(
  { header }: Pick<Envelope, 'header'>,
  id: string,
  generation: number,
  index: number,
): boolean {
  if (header.foreign) return header.id === id; // all copies are the same
  return header.id === id && header.generation === generation && header.index === index;
}

/** Returns the group as the ledger knows it. */
export function ledgerGroup({ group, groupId = group }: CopyHeader): string | undefined {
  return groupId;
}

/** Returns whether a string may be part of a ledger key and doesn't clash with the names next to the records. */
export function isJobId(value: unknown): value is string {
  return typeof value === 'string' && /^[\w-]{1,100}$/.test(value);
}
