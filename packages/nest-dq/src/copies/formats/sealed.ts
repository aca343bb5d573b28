/**
 * The bytes of a sealed copy: `dqs `, the job's open header and the copy's fields, each a line of JSON; the seal; what is encrypted; and,
 * where the payload is not, the payload. The seal covers the open header, the tube, the secrets and the payload, and is the same in
 * all copies of a job, as it is what takes time. Each copy proves by `m` that its own fields belong to the job: a backup with a
 * secret of the job that no other copy tells, the primary with an HMAC, as its siblings are known only after the seal.
 */
import { randomBytes } from 'node:crypto';
import type { StoredTube } from '../../api/tube.js';
import type { Body } from '../../beanstalk/connection.js';
import type { CopyHeader, Envelope, JobHeader, JobIdentity, WrittenJob } from '../header.js';
import type { Place } from '../location.js';
import type { Content } from '../payload.js';
import { copyDelay, copyPriority } from '../timing.js';
import { isEqual, proofOf, PROOF_BYTES, type Seal, SEAL_BYTES, type SealedJob } from '../../seal/seal.js';
import {
  copyFields,
  openFields,
  parseFields,
  privateFields,
  readHeader,
  type WireHeader,
} from './wire-header.js';

const MARK = 'dqs ';
const MARK_BYTES = Buffer.from(MARK).readUInt32BE();
const LINE_FEED = 0x0a;
/** In bytes: the name of the key, the length of the secrets, and a proof, with their names. */
const MORE_FIELDS = 200;

/** What begins so is no copy that this process may run: the text tells why. */
export const BAD_SEAL = 'DQ_BAD_SEAL: ';
const NO_COPY = `${BAD_SEAL}it is no copy of its job`;
/** The same, but the copy may be right: another process may have the key. */
export const NO_KEY = `${BAD_SEAL}no key: `;

/** The open header of a sealed job. */
interface SealFields {
  /** The name of the key. */
  readonly s: string;
  /** Bytes that are encrypted. */
  readonly z: number;
}

interface Written {
  readonly sealed: SealedJob;
  readonly line: string;
  /** The proofs of the backups, one after the other. */
  readonly proofs: Buffer;
}

/** One job's copies, sealed when the first of them is put. */
export class SealedEnvelope implements WrittenJob {
  private written: Written | undefined;

  constructor(
    private readonly seal: Seal,
    private readonly keyName: string,
    private readonly tube: StoredTube,
    readonly job: JobHeader,
    readonly content: Content,
  ) {}

  body(index: number, siblings: readonly Place[] = []): Body {
    const { sealed, line, proofs } = (this.written ??= this.write());
    const fields = copyFields(index, siblings).slice(1);
    const proof =
      index === 0 ? proofOf(sealed, fields) : proofs.subarray((index - 1) * PROOF_BYTES, index * PROOF_BYTES);
    const head = `${line}{${fields},"m":"${proof.toString('base64url')}"}\n`;
    return this.seal.settings.encrypt ? [head + sealed.text] : [head + sealed.text, this.content.bytes];
  }

  withCopies(copies: number): SealedEnvelope {
    const { seal, keyName, tube, job, content } = this;
    return copies === job.copies
      ? this
      : new SealedEnvelope(seal, keyName, tube, { ...job, copies }, content);
  }

  delay(index: number, msUntilDue: number, backupDelay: number): number {
    return copyDelay(index, msUntilDue, backupDelay);
  }

  priority(index: number): number {
    return copyPriority(this.job.priority, this.job.due, index);
  }

  largestCopy(mostSiblings: number, longestLocation: number): number {
    const { job, content } = this;
    const header = openFields(job).length + privateFields(job, content.type).length;
    const siblings = mostSiblings * (longestLocation + 10);
    return header + siblings + MORE_FIELDS + SEAL_BYTES + job.copies * PROOF_BYTES + content.bytes.length;
  }

  private write(): Written {
    const { seal, keyName, tube, job, content } = this;
    const { bytes, type } = content;
    const { encrypt } = seal.settings;
    const proofs = randoms((job.copies - 1) * PROOF_BYTES);
    const fields = privateFields(job, type);
    let secret = proofs;
    if (encrypt) {
      const payload = typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes;
      secret = Buffer.concat([proofs, Buffer.from(`{${fields.slice(1)}}\n`, 'latin1'), payload]);
    }
    const open = `${openFields(job)}${encrypt ? '' : fields},"s":"${keyName}","z":${secret.length}}`;
    const covered = coveredBy(tube, open, encrypt ? '' : bytes);
    return { sealed: seal.seal(keyName, covered, secret), line: `${MARK}${open}\n`, proofs };
  }
}

export function isSealed(body: Buffer): boolean {
  return body.length >= MARK.length && body.readUInt32BE() === MARK_BYTES;
}

const FIRST_FIELDS =
  /^dqs \{"id":"([\w-]{1,100})","due":(\d{1,15}),"n":\d+(?:,"g":(\d{1,15}))?(?:,"o":(\d{1,15}))?,"[kpabhuts]":/;

/** See `identifyDq1`. Nothing is proved of what it tells. */
export function identifySealed(body: string): JobIdentity | undefined {
  const found = FIRST_FIELDS.exec(body);
  if (!found) return undefined;
  const [, id, due, generation = 0, born = generation] = found;
  return { id: id!, due: Number(due), generation: Number(generation), born: Number(born) };
}

/** What anybody may read of the header; nothing is proved of it. */
export function fieldsOfSealed(body: Buffer): CopyHeader | undefined {
  const end = body.indexOf(LINE_FEED, MARK.length);
  const copyEnd = body.indexOf(LINE_FEED, end + 1);
  if (end < 0 || copyEnd < 0) return undefined;
  const [ofJob, ofCopy] = [
    parseFields(body.toString('utf8', MARK.length, end)),
    parseFields(body.toString('utf8', end + 1, copyEnd)),
  ];
  const header = readHeader({ ...(ofJob as WireHeader), ...(ofCopy as WireHeader) });
  return typeof header === 'string' ? undefined : header;
}

/** Takes a sealed copy apart. A text says why it must not run. */
export function unwrapSealed(body: Buffer, tube: StoredTube, seal: Seal): Envelope | string {
  const end = body.indexOf(LINE_FEED, MARK.length);
  const copyEnd = end < 0 ? -1 : body.indexOf(LINE_FEED, end + 1);
  if (copyEnd < 0) return `${BAD_SEAL}its header has no end`;
  const open = body.toString('utf8', MARK.length, end);
  const ofJob = parseFields(open);
  const copyText = body.toString('utf8', end + 1, copyEnd);
  const ofCopy = parseFields(copyText);
  if (typeof ofJob === 'string') return BAD_SEAL + ofJob;
  if (typeof ofCopy === 'string') return BAD_SEAL + ofCopy;
  const { s: name, z: length } = ofJob as SealFields;
  const secretEnd = copyEnd + 1 + SEAL_BYTES + length;
  const isRight = typeof name === 'string' && Number.isInteger(length) && length >= 0;
  if (!isRight || secretEnd > body.length) return `${BAD_SEAL}it has no whole seal`;
  const payload = body.subarray(secretEnd);
  const opened = seal.open(name, coveredBy(tube, open, payload), body.subarray(copyEnd + 1, secretEnd));
  if (opened === 'unknownKey')
    return `${NO_KEY}it is sealed with the key "${name.slice(0, 40)}", which this process does not have`;
  if (opened === 'broken') return `${BAD_SEAL}it was changed, or sealed for another tube`;
  return readOpened(opened.secret, {
    ofJob,
    ofCopy,
    payload,
    copyText,
    proves: (fields) => proofOf(opened, fields),
  });
}

interface Opened {
  readonly ofJob: object;
  readonly ofCopy: object;
  /** The payload, unless it is encrypted. */
  readonly payload: Buffer;
  readonly copyText: string;
  readonly proves: (fields: string) => Buffer;
}

function readOpened(secret: Buffer, { ofJob, ofCopy, payload, copyText, proves }: Opened): Envelope | string {
  const { n: copies } = ofJob as WireHeader;
  const { i: index, l, m } = ofCopy as WireHeader & { readonly m?: string };
  const proofsEnd = (copies - 1) * PROOF_BYTES;
  if (typeof m !== 'string') return NO_COPY;
  // The proof is the last field.
  const fields = copyText.slice(1, -`,"m":"${m}"}`.length);
  const isBackup = Number.isInteger(index) && index > 0 && index < copies && fields === `"i":${index}`;
  if (index !== 0 && !isBackup) return NO_COPY;
  const expected =
    index === 0 ? proves(fields) : secret.subarray((index - 1) * PROOF_BYTES, index * PROOF_BYTES);
  if (!isEqual(Buffer.from(expected.toString('base64url')), Buffer.from(m))) return NO_COPY;
  let wire = { ...ofJob, i: index, l } as WireHeader;
  let content = payload;
  const isEncrypted = secret.length > proofsEnd;
  if (isEncrypted) {
    const privateEnd = secret.indexOf(LINE_FEED, proofsEnd);
    const ofPrivate = parseFields(secret.toString('utf8', proofsEnd, privateEnd));
    if (typeof ofPrivate === 'string') return BAD_SEAL + ofPrivate;
    wire = { ...wire, ...ofPrivate };
    content = secret.subarray(privateEnd + 1);
  }
  const header = readHeader(wire);
  if (typeof header === 'string') return header;
  return { header, content: { type: wire.t ?? 'json', bytes: content } };
}

/** No tube and no header has a line feed, so no two jobs are covered alike. */
function coveredBy(tube: StoredTube, open: string, payload: Buffer | string): Buffer {
  const head = `nest-dq seal 1\n${tube}\n${open}\n`;
  if (typeof payload === 'string') return Buffer.from(head + payload);
  return payload.length === 0 ? Buffer.from(head) : Buffer.concat([Buffer.from(head), payload]);
}

let stock = Buffer.alloc(0);

/** From a stock of random bytes, each of which is used once: to ask for those of each job takes longer. */
function randoms(count: number): Buffer {
  if (stock.length < count) stock = randomBytes(8_192);
  const taken = stock.subarray(0, count);
  stock = stock.subarray(count);
  return taken;
}
