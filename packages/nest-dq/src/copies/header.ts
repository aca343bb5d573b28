import type { WrittenCopies } from '../cluster/cluster.js';
import type { ResolvedBackoff } from '../time/backoff.js';
import type { Place } from './location.js';
import type { Content } from './payload.js';

/** What all copies of a job have in common. */
export interface JobHeader {
  readonly id: string;
  /** Ledger time, ms. */
  readonly due: number;
  /** 0 for the first of a plain job. */
  readonly generation: number;
  /** The generation of the add. It differs from `generation` if the job was moved since. @default the generation */
  readonly born?: number;
  /** The user's name for the job. */
  readonly key?: string;
  /** How many copies were meant to be stored. */
  readonly copies: number;
  /** 0 high, 1 normal, 2 low. */
  readonly priority: number;
  readonly attempts?: number;
  readonly backoff?: ResolvedBackoff;
  readonly headers?: Readonly<Record<string, string>>;
  /** Of which so many run at the same time, if the handler has the limit `perGroup`. */
  readonly group?: string;
}

/** What a copy says of its job and of itself. */
export interface CopyHeader extends JobHeader {
  readonly born: number;
  /** 0 is the primary. Copies of another program have no other. */
  readonly index: number;
  /** In the primary: the other copies, those of puts with an unknown outcome too. */
  readonly siblings: readonly Place[];
  /** What the ledger calls the group, where the copy hides it. @default the group */
  readonly groupId?: string;
  /** It is stored as another program stores its jobs. @default ours */
  readonly wire?: 'go-queue';
}

/** Of which job, and of which of its generations, a copy is. */
export type JobIdentity = Pick<CopyHeader, 'id' | 'due' | 'generation' | 'born'>;

/** A copy, as its format was read. */
export interface Envelope {
  readonly header: CopyHeader;
  readonly content: Content;
}

/** A job as a format writes it. */
export interface WrittenJob extends WrittenCopies {
  readonly job: JobHeader;
  readonly content: Content;
  /** The same job with another number of copies, or as another generation. */
  with(copies: number, generation?: number): WrittenJob;
  /**
   * Bytes. No copy of the job is larger that names at most so many siblings, at places of at most this length; nor is one of a later
   * generation of it, so that what was stored can always be moved, repaired and revived.
   */
  largestCopy(mostSiblings: number, longestLocation: number): number;
}

/** The same job with another number of copies, or as another generation. By hand: `{ ...job }` takes ten times as long. */
export function headerWith(
  { id, due, born, key, priority, attempts, backoff, headers, group }: JobHeader,
  copies: number,
  generation: number,
): JobHeader {
  return { id, due, generation, born, key, copies, priority, attempts, backoff, headers, group };
}

/** Whether it is this very copy: a server's copy ids are no identities, they begin again when it loses its log. */
export function isCopyOf(
  { header }: Pick<Envelope, 'header'>,
  id: string,
  generation: number,
  index: number,
): boolean {
  if (header.wire) return header.id === id; // all copies are the same
  return header.id === id && header.generation === generation && header.index === index;
}

/** The group as the ledger knows it. */
export function ledgerGroup({ group, groupId = group }: CopyHeader): string | undefined {
  return groupId;
}

/** True for a text that may be part of a key of the ledger, and is none of the names beside the records. */
export function isJobId(value: unknown): value is string {
  return typeof value === 'string' && /^[\w-]{1,100}$/.test(value);
}
