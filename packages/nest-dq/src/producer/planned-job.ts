import type { JobRef } from '../api/job.js';
import type { ResolvedJobOptions } from '../api/job-options.js';
import type { StoredTube } from '../api/tube.js';
import type { Content, ContentType } from '../copies/payload.js';

/** A payload that survives JSON. */
export interface PlannedContent {
  readonly type: ContentType;
  readonly text: string;
}

/** A checked job that is added later. Plain data, also after JSON. */
export interface PlannedJob {
  readonly tube: StoredTube;
  readonly key: string;
  /** The job's id, which follows from both. */
  readonly id: string;
  /** Ledger time in ms. */
  readonly due: number;
  readonly content: PlannedContent;
  readonly options: ResolvedJobOptions;
}

/** A checked move that is made later. Plain data, also after JSON. */
export interface PlannedMove {
  readonly ref: JobRef;
  /** Ledger time in ms. */
  readonly due: number;
  /** Absent if the payload stays. */
  readonly content?: PlannedContent | undefined;
  /** See `Change`. */
  readonly readable?: readonly string[] | undefined;
}

/** An existing job, as a call names it. */
export interface PlannedTarget {
  readonly tube: StoredTube;
  readonly id: string;
  /** Plain data, also after JSON. */
  readonly ref: JobRef;
}

/** `text` is base64 for bytes. */
export function plannedContent({ type, bytes }: Content): PlannedContent {
  if (type !== 'bytes') return { type, text: bytes.toString() };
  return { type, text: Buffer.from(bytes as Buffer).toString('base64') };
}

export function contentOf({ type, text }: PlannedContent): Content {
  if (type === 'bytes') return { type, bytes: Buffer.from(text, 'base64') };
  return { type, bytes: Buffer.byteLength(text) === text.length ? text : Buffer.from(text) };
}
