import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { StoredTube } from '../../api/tube.js';
import type { Envelope, JobHeader } from '../header.js';
import { formatRef, keyedId, parseRef } from '../job-ref.js';
import type { Place } from '../location.js';
import { encodePayload } from '../payload.js';
import { JobEnvelope } from './dq1.js';
import { PROOF_BYTES, Seal, type SealKeys, type SealSettings } from '../../seal/seal.js';
import { SealedEnvelope } from './sealed.js';
import { identify, openHeaderOf, unwrap } from './unwrap.js';

const TUBE = 'shop.order' as StoredTube;
const KEYS = new Map([
  ['old', randomBytes(32)],
  ['new', randomBytes(32)],
]);
const JOB: JobHeader = {
  id: 'abcdefghijklmnop',
  due: Date.UTC(2030, 0, 1),
  generation: 7,
  born: 5,
  copies: 3,
  priority: 0,
  key: 'order:42 ü',
  attempts: 3,
  backoff: { type: 'fixed', delay: 5, max: 5, jitter: 0 },
  headers: { trace: 'Zürich' },
  group: 'gold',
};
const SIBLINGS: readonly Place[] = [
  { index: 1, location: 'a:1#1111111111111111:7' },
  { index: 2, location: 'b:1#2222222222222222:8' },
];

const sealOf = ({ keys = KEYS, current = 'new', ...settings }: Partial<SealSettings & SealKeys> = {}) =>
  new Seal({ encrypt: true, acceptsUnsealed: false, unsealed: new Set(), ...settings }, { keys, current });

const bytesOf = (body: readonly (string | Uint8Array)[]) =>
  Buffer.concat(body.map((part) => (typeof part === 'string' ? Buffer.from(part, 'latin1') : part)));

/** The primary and the two backups. */
function written(
  seal: Seal,
  job = JOB,
  content = encodePayload({ secret: 'Zürich' }),
  siblings = SIBLINGS,
): Buffer[] {
  const envelope = new SealedEnvelope(seal, seal.keyFor(TUBE)!, TUBE, job, content);
  // The backups first, as they are put.
  const backups = [1, 2].slice(0, job.copies - 1).map((index) => bytesOf(envelope.body(index)));
  return [bytesOf(envelope.body(0, job.copies > 1 ? siblings : [])), ...backups];
}

function opened(body: Buffer, seal: Seal, tube = TUBE): Envelope {
  const envelope = unwrap(body, tube, seal);
  if (typeof envelope === 'string') throw new Error(envelope);
  return envelope;
}

describe.each([
  ['encrypted', true],
  ['only signed', false],
])('a job that is %s', (_, encrypt) => {
  it.each([{ a: [1, 'ü'] }, 'Zürich', Buffer.from([0, 10, 255]), undefined])(
    'is read as it was written: %j',
    (payload) => {
      const seal = sealOf({ encrypt });
      const content = encodePayload(payload);
      const { id, due, generation, born, key, copies, priority, attempts, backoff, headers, group } = JOB;
      const header = { id, due, generation, born, key, copies, priority, attempts, backoff, headers, group };
      for (const [index, body] of written(seal, JOB, content).entries()) {
        const envelope = opened(body, sealOf({ current: 'old' })); // another process
        const ofCopy = { index, siblings: index === 0 ? SIBLINGS : [] };
        const groupId = encrypt ? { groupId: keyedId(TUBE, 'gold') } : {};
        expect(envelope.header).toEqual({ ...header, ...ofCopy, ...groupId });
        expect(envelope.content.type).toBe(content.type);
        expect(Buffer.from(envelope.content.bytes)).toEqual(Buffer.from(content.bytes));
      }
    },
  );

  it('may have one copy, and no key, headers or group', () => {
    const { id, due } = JOB;
    const [body] = written(sealOf({ encrypt }), { id, due, generation: 0, copies: 1, priority: 1 });
    expect(opened(body!, sealOf()).header).toMatchObject({ id, due, copies: 1, index: 0, siblings: [] });
  });

  it('does not run with any of its bytes changed, left out or added', () => {
    const seal = sealOf({ encrypt });
    for (const body of written(seal)) {
      for (let at = 0; at < body.length; at++) {
        for (const bit of [1, 32, 128]) {
          const changed = Buffer.from(body);
          changed[at]! ^= bit;
          expect([at, bit, typeof unwrap(changed, TUBE, seal)]).toEqual([at, bit, 'string']);
        }
        const shorter = Buffer.concat([body.subarray(0, at), body.subarray(at + 1)]);
        const longer = Buffer.concat([body.subarray(0, at), Buffer.from('1'), body.subarray(at)]);
        expect([at, typeof unwrap(shorter, TUBE, seal)]).toEqual([at, 'string']);
        expect([at, typeof unwrap(longer, TUBE, seal)]).toEqual([at, 'string']);
      }
    }
  });

  it('does not run in another tube, or under another prefix', () => {
    const seal = sealOf({ encrypt });
    const [body] = written(seal);
    for (const tube of ['order', 'shop.orders', 'shop.orde', ''] as StoredTube[])
      expect(unwrap(body!, tube, seal)).toMatch(/^DQ_BAD_SEAL: .*another tube/);
  });

  it('does not run under another context, nor does its reference find the job there', () => {
    const [staging, production, none] = ['staging', 'production', undefined].map((context) =>
      sealOf({ encrypt, ...(context !== undefined && { context }) }),
    );
    for (const body of written(staging!)) {
      expect(opened(body, staging!).header.id).toBe(JOB.id);
      for (const other of [production!, none!])
        expect(unwrap(body, TUBE, other)).toMatch(/^DQ_BAD_SEAL: .*`seal\.context`/);
    }
    const ref = formatRef({ tube: TUBE, id: JOB.id, born: 5, due: JOB.due, copies: 1, places: [] }, staging);
    expect(parseRef(ref, '', staging)).toMatchObject({ id: JOB.id });
    expect(() => parseRef(ref, '', production)).toThrow(/its tag does not match/);
  });

  it('has no copy that is made of two', () => {
    const seal = sealOf({ encrypt });
    const partsOf = (body: Buffer) => {
      const fields = body.indexOf('\n') + 1;
      const proof = body.indexOf('\n', fields) + 1;
      const rest = proof + PROOF_BYTES;
      return [
        body.subarray(0, fields),
        body.subarray(fields, proof),
        body.subarray(proof, rest),
        body.subarray(rest),
      ];
    };
    const elsewhere = SIBLINGS.map(({ index, location }) => ({ index, location: `${location}9` }));
    const bodies = [written(seal), written(seal, JOB, encodePayload(1), elsewhere)].flat();
    const [lines, fields, proofs, rests] = [0, 1, 2, 3].map((part) =>
      bodies.map((body) => partsOf(body)[part]!),
    );
    const made = lines!.flatMap((a) =>
      fields!.flatMap((b) => proofs!.flatMap((c) => rests!.map((d) => Buffer.concat([a, b, c, d])))),
    );
    const opened = made.filter((body) => typeof unwrap(body, TUBE, seal) === 'object');
    expect(new Set(opened.map((body) => body.toString('hex')))).toEqual(
      new Set(bodies.map((body) => body.toString('hex'))),
    );
  });

  it('is not larger than it says before it is written', () => {
    const longest = Math.max(...SIBLINGS.map(({ location }) => location.length));
    const seal = sealOf({ encrypt });
    const envelope = new SealedEnvelope(seal, seal.keyFor(TUBE)!, TUBE, JOB, encodePayload('x'.repeat(50)));
    expect(envelope.largestCopy(2, longest)).toBeGreaterThanOrEqual(
      bytesOf(envelope.body(0, SIBLINGS)).length,
    );
  });
});

it('hides payload, key, headers and group, and shows id and time', () => {
  const [body] = written(sealOf());
  const text = body!.toString('latin1');
  for (const secret of ['secret', 'order:42', 'trace', 'gold']) expect(text).not.toContain(secret);
  const { id, due, generation, born } = JOB;
  expect(identify(text)).toEqual({ id, due, generation, born });
  expect(openHeaderOf(body!)).toMatchObject({ id, due, index: 0, siblings: SIBLINGS, key: undefined });
});

it('never uses a nonce twice, and is not the same for the same job', () => {
  const seal = sealOf();
  const nonces = new Set(
    Array.from({ length: 1_000 }, () => {
      const [body] = written(seal);
      const start = body!.indexOf('\n', body!.indexOf('\n') + 1) + 1 + PROOF_BYTES;
      return body!.toString('hex', start, start + 28); // the salt of the process, and the nonce
    }),
  );
  expect(nonces.size).toBe(1_000);
});

describe('a reader', () => {
  it('without the key may hand the copy to another', () => {
    const [body] = written(sealOf());
    const without = sealOf({ keys: new Map([['old', KEYS.get('old')!]]), current: 'old' });
    expect(unwrap(body!, TUBE, without)).toMatch(/^DQ_BAD_SEAL: no key: .*"new"/);
    expect(unwrap(body!, TUBE, undefined)).toMatch(/^DQ_BAD_SEAL: no key: .*no `seal`/);
  });

  it('with another key of the same name does not run it', () => {
    const [body] = written(sealOf());
    const other = sealOf({ keys: new Map([['new', randomBytes(32)]]) });
    expect(unwrap(body!, TUBE, other)).toMatch(/^DQ_BAD_SEAL: it was altered/);
  });

  it('takes a copy without a seal only where that is allowed', () => {
    const body = bytesOf(new JobEnvelope(JOB, encodePayload(1)).body(0));
    expect(unwrap(body, TUBE, sealOf())).toBe('DQ_BAD_SEAL: it has no seal');
    expect(typeof unwrap(body, TUBE, sealOf({ acceptsUnsealed: true }))).toBe('object');
    expect(typeof unwrap(body, TUBE, sealOf({ unsealed: new Set([TUBE]) }))).toBe('object');
    expect(unwrap(body, 'another' as StoredTube, sealOf({ unsealed: new Set([TUBE]) }))).toMatch(/no seal/);
  });

  it('keeps the derived keys of a bounded number of processes, and derives others again', () => {
    const reader = sealOf();
    const bodies = Array.from({ length: 1_100 }, () => written(sealOf())[0]!);
    for (const body of [...bodies, ...bodies]) expect(opened(body, reader).header.id).toBe(JOB.id);
  });
});
