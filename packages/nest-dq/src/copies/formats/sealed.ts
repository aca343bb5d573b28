/**
 * Layout of a sealed copy: a line with `dqs`, the name of the key, the number of encrypted bytes, and the job's open header; a
 * line with the copy's fields; the copy's proof; the seal; the encrypted part; and, if the payload isn't encrypted, the payload.
 * The seal covers the first line, the tube, the secrets and the payload. It is the expensive part, so all copies of a job share
 * it. Each copy proves that its own fields belong to the job: a backup with a secret of the job that no other copy reveals, the
 * primary with an HMAC, since its siblings are only known after sealing.
 */
import { randomBytes, timingSafeEqual } from 'node:crypto';
import type { StoredTube } from '../../api/tube.js';
import type { Body } from '../../beanstalk/connection.js';
import {
  headerWith,
  type CopyHeader,
  type Envelope,
  type JobHeader,
  type JobIdentity,
  type WrittenJob,
} from '../header.js';
import { keyedId } from '../job-ref.js';
import type { Place } from '../location.js';
import type { Content } from '../payload.js';
import { copyDelay, copyPriority } from '../timing.js';
import {
  proofOf,
  PROOF_BYTES,
  type Seal,
  SEAL_BYTES,
  type SealedJob,
  type SealingKey,
} from '../../seal/seal.js';
import { copyFields, growthOf, openFields, parseHeader, privateFieldsOf } from './wire-header.js';

const MARK = 'dqs ';
const MARK_BYTES = Buffer.from(MARK).readUInt32BE();
const LINE_FEED = 0x0a;
/** The mark, the name of the key, the length of the secrets, and the copy's index. */
const MORE_FIELDS_BYTES = 100;

/** Prefix of the reason why this process may not run a copy. */
export const BAD_SEAL = 'DQ_BAD_SEAL: ';
const CHANGED = `${BAD_SEAL}it was altered, or sealed for another tube or another \`seal.context\``;
const NO_COPY = `${BAD_SEAL}it is not a copy of its job`;
const CUT = `${BAD_SEAL}it is incomplete`;
/** Like `BAD_SEAL`, but the copy may be fine: another process may have the key. */
export const NO_KEY = `${BAD_SEAL}no key: `;

interface Written {
  readonly sealed: SealedJob;
  readonly line: string;
  /** Concatenated proofs of the backups, in latin1. */
  readonly proofs: string;
}

/** One job's copies, sealed when the first of them is put. */
export class SealedEnvelope implements WrittenJob {
  private written: Written | undefined;
  private readonly openFields: string;

  constructor(
    private readonly seal: Seal,
    private readonly key: SealingKey,
    private readonly tube: StoredTube,
    readonly job: JobHeader,
    readonly content: Content,
    private readonly privateFields = privateFieldsOf(job, content.type),
  ) {
    this.openFields = openFields(job);
  }

  body(index: number, siblings: readonly Place[] = []): Body {
    const { sealed, line, proofs } = (this.written ??= this.write());
    const fields = copyFields(index, siblings);
    const proof = index === 0 ? proofOf(sealed, fields) : proofs.slice(...proofRange(index));
    const head = `${line}${fields}\n${proof}${sealed.text}`;
    return this.seal.settings.encrypt ? [head] : [head, this.content.bytes];
  }

  with(copies: number, generation = this.job.generation): SealedEnvelope {
    const { seal, key, tube, job, content } = this;
    if (generation === job.generation && copies === job.copies) return this;
    const header = headerWith(job, copies, generation);
    return new SealedEnvelope(seal, key, tube, header, content, this.privateFields);
  }

  delay(index: number, msUntilDue: number, backupDelay: number): number {
    return copyDelay(index, msUntilDue, backupDelay);
  }

  priority(index: number): number {
    return copyPriority(this.job.priority, this.job.due, index);
  }

  largestCopy(mostSiblings: number, longestLocation: number): number {
    const { job, content } = this;
    const header = this.openFields.length + growthOf(job) + this.privateFields.length;
    const siblings = mostSiblings * (longestLocation + 10);
    return (
      header + siblings + MORE_FIELDS_BYTES + SEAL_BYTES + job.copies * PROOF_BYTES + content.bytes.length
    );
  }

  private write(): Written {
    const { seal, key, tube, job, openFields: open, privateFields: fields } = this;
    const { bytes } = this.content;
    const { encrypt } = seal.settings;
    const proofs = randoms((job.copies - 1) * PROOF_BYTES);
    const secret = encrypt ? joined(`${proofs}${fields}\n`, bytes) : Buffer.from(proofs, 'latin1');
    const line = `${MARK}${key.name} ${secret.length} ${open}${encrypt ? '' : fields}\n`;
    const sealed = seal.seal(key, joined(coveredBy(tube) + line, encrypt ? '' : bytes), secret);
    return { sealed, line, proofs };
  }
}

export function isSealed(body: Buffer): boolean {
  return body.length >= MARK.length && body.readUInt32BE() === MARK_BYTES;
}

/**
 * The first line, as written by `SealedEnvelope`: the name of the key, the number of encrypted bytes, and the open header with
 * its first fields.
 */
const FIRST_LINE =
  /^dqs ([\w.-]{1,40}) (\d{1,10}) (\{"id":"([\w-]{1,100})","due":(\d{1,16}),"n":(\d{1,2})(?:,"g":(\d{1,16}))?(?:,"o":(\d{1,16}))?(?:,"[^\n]*)?)\n/;

/** Returns the name of the key that a sealed copy claims to use; unverified. */
export function keyNameOf(body: Buffer): string | undefined {
  return FIRST_LINE.exec(body.toString('latin1', 0, body.indexOf(LINE_FEED) + 1))?.[1];
}

/** Like `identifyDq1`, for a sealed copy. Unverified. */
export function identifySealed(body: string): JobIdentity | undefined {
  const found = FIRST_LINE.exec(body);
  if (!found) return undefined;
  const [, , , , id, due, , generation = 0, born = generation] = found;
  return { id: id!, due: Number(due), generation: Number(generation), born: Number(born) };
}

/** Returns the readable part of the header; unverified. */
export function fieldsOfSealed(body: Buffer): CopyHeader | undefined {
  const parts = partsOf(body);
  const parsed = typeof parts === 'object' ? parseHeader(`${parts.open}${parts.fields}}`) : undefined;
  return typeof parsed === 'object' ? parsed.header : undefined;
}

/**
 * Opens a sealed copy. Returns a string if it must not run, with the reason. Parses no JSON before the seal proves that one of us
 * wrote it.
 */
export function unwrapSealed(body: Buffer, tube: StoredTube, seal: Seal): Envelope | string {
  const parts = partsOf(body);
  if (typeof parts === 'string') return parts;
  const { keyName, copies, open, fields, proof } = parts;
  const payload = body.subarray(parts.payloadStart);
  const covered = Buffer.concat([Buffer.from(coveredBy(tube)), body.subarray(0, parts.lineEnd), payload]);
  const opened = seal.open(keyName, covered, body.subarray(parts.sealStart, parts.payloadStart));
  if (opened === 'unknownKey')
    return `${NO_KEY}it is sealed with the key "${keyName}", which this process does not have`;
  if (opened === 'broken') return CHANGED;

  const { secret } = opened;
  const proofsEnd = (copies - 1) * PROOF_BYTES;
  const index = Number(BACKUP.exec(fields)?.[1] ?? 0);
  const expected =
    index === 0
      ? Buffer.from(proofOf(opened, fields), 'latin1')
      : secret.subarray(0, proofsEnd).subarray(...proofRange(index));
  if (expected.length !== PROOF_BYTES || !timingSafeEqual(expected, proof)) return NO_COPY;

  const isEncrypted = secret.length > proofsEnd;
  const privateEnd = isEncrypted ? secret.indexOf(LINE_FEED, proofsEnd) : proofsEnd;
  const parsed = parseHeader(`${open}${fields}${secret.toString('latin1', proofsEnd, privateEnd)}}`);
  if (typeof parsed === 'string') return BAD_SEAL + parsed;
  const { type } = parsed;
  const { group } = parsed.header;
  // Hashed, like the id of a keyed job.
  const header =
    isEncrypted && group !== undefined ? { ...parsed.header, groupId: keyedId(tube, group) } : parsed.header;
  return { header, content: { type, bytes: isEncrypted ? secret.subarray(privateEnd + 1) : payload } };
}

/** Fields of a backup. */
const BACKUP = /^,"i":([1-9]\d?)$/;

/** A sealed copy, split up but not yet verified. */
interface Parts {
  readonly keyName: string;
  /** Number of copies of the job. */
  readonly copies: number;
  /** The open header, without the closing brace. */
  readonly open: string;
  /** Fields of the copy. */
  readonly fields: string;
  readonly proof: Buffer;
  /** Offset after the first line. */
  readonly lineEnd: number;
  readonly sealStart: number;
  /** Offset of an unencrypted payload. */
  readonly payloadStart: number;
}

function partsOf(body: Buffer): Parts | string {
  const lineEnd = body.indexOf(LINE_FEED) + 1;
  const fieldsEnd = body.indexOf(LINE_FEED, lineEnd);
  const found = FIRST_LINE.exec(body.toString('latin1', 0, lineEnd));
  if (!found || fieldsEnd < 0) return CUT;
  const [, keyName, length, open, , , copies] = found;
  const sealStart = fieldsEnd + 1 + PROOF_BYTES;
  const payloadStart = sealStart + SEAL_BYTES + Number(length);
  if (payloadStart > body.length) return CUT;
  return {
    keyName: keyName!,
    copies: Number(copies),
    open: open!,
    fields: body.toString('latin1', lineEnd, fieldsEnd),
    proof: body.subarray(fieldsEnd + 1, sealStart),
    lineEnd,
    sealStart,
    payloadStart,
  };
}

/** Range of a backup's proof among those of its job. */
function proofRange(index: number): [from: number, to: number] {
  return [(index - 1) * PROOF_BYTES, index * PROOF_BYTES];
}

/** Prefix of what the seal covers. Tubes contain no line feed, so no two jobs share the same covered bytes. */
function coveredBy(tube: StoredTube): string {
  return `nest-dq seal 2\n${tube}\n`;
}

/** @param head In latin1. */
function joined(head: string, tail: Buffer | string): Buffer {
  return typeof tail === 'string'
    ? Buffer.from(head + tail, 'latin1')
    : Buffer.concat([Buffer.from(head, 'latin1'), tail]);
}

let stock = '';

/** Returns random bytes in latin1, from a buffer in which each is used once: asking for each job's bytes takes longer. */
function randoms(count: number): string {
  if (stock.length < count) stock = randomBytes(8_192).toString('latin1');
  const taken = stock.slice(0, count);
  stock = stock.slice(count);
  return taken;
}
