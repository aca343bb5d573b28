// Copies on a node, and references from a client: a job, or a string or an error that says why it is none.
import { randomBytes } from 'node:crypto';
import { describe, expect } from '@jest/globals';
import fc from 'fast-check';
import { copyBody } from 'nest-dq/spec-support/copy-body.js';
import type { StoredTube } from 'nest-dq/src/api/tube.js';
import { JobEnvelope } from 'nest-dq/src/copies/formats/dq1.js';
import { GoQueueEnvelope, goQueueCopies } from 'nest-dq/src/go-queue/go-queue-format.js';
import { SealedEnvelope } from 'nest-dq/src/copies/formats/sealed.js';
import { identify, openHeaderOf, unwrap } from 'nest-dq/src/copies/formats/unwrap.js';
import { isJobId, type CopyHeader, type JobHeader } from 'nest-dq/src/copies/header.js';
import { formatRef, parseRef } from 'nest-dq/src/copies/job-ref.js';
import { formatPlaces, parseLocation, parsePlaces, type Place } from 'nest-dq/src/copies/location.js';
import { decodePayload, encodePayload } from 'nest-dq/src/copies/payload.js';
import { formatCursor, parseCursor } from 'nest-dq/src/producer/cursor.js';
import { DqError } from 'nest-dq/src/errors.js';
import { Seal } from 'nest-dq/src/seal/seal.js';
import { damaged, holds, thrownBy } from './holds.js';

const TUBE = 'order.cancel' as StoredTube;
const time = fc.nat({ max: 8.64e15 });
const id = fc.stringMatching(/^[\w-]{1,30}$/);
const text = fc.string({ unit: 'binary', minLength: 1, maxLength: 40 });
const place: fc.Arbitrary<Place> = fc.record({
  index: fc.nat({ max: 30 }),
  location: fc
    .tuple(fc.stringMatching(/^[a-z0-9.:[\]]{1,30}$/), fc.stringMatching(/^\w{1,16}$/), fc.nat())
    .map(([endpoint, instance, copyId]) => `${endpoint}#${instance}:${copyId}`),
});
const places = fc.array(place, { maxLength: 5 });
const options = fc.record(
  {
    key: text,
    group: text,
    born: time,
    attempts: fc.integer({ min: 1, max: 1e9 }),
    headers: fc.dictionary(text, fc.string({ unit: 'binary' }), { maxKeys: 4 }),
    backoff: fc.record({
      type: fc.constantFrom('fixed' as const, 'exponential' as const),
      delay: fc.nat(),
      max: fc.nat(),
      jitter: fc.double({ min: 0, max: 1, noNaN: true }),
    }),
  },
  { requiredKeys: [] },
);
const job: fc.Arbitrary<JobHeader> = fc
  .tuple(
    fc.record({
      id,
      due: time,
      generation: time,
      copies: fc.integer({ min: 1, max: 5 }),
      priority: fc.nat({ max: 2 }),
    }),
    options,
  )
  .map(([header, more]) => ({ ...header, ...more }));
const json = fc.jsonValue({ maxDepth: 4 }).filter((value) => typeof value !== 'string');
const payload = fc.oneof(
  json,
  text,
  fc.constant(undefined),
  fc.uint8Array().map((bytes) => Buffer.from(bytes)),
);
/** The value after a round trip through JSON. */
const asStored = (value: unknown): unknown =>
  value === undefined || Buffer.isBuffer(value) ? value : JSON.parse(JSON.stringify(value));

const sealOf = (encrypt: boolean) =>
  new Seal(
    { encrypt, acceptsUnsealed: false, unsealed: new Set() },
    { keys: new Map([['a', randomBytes(32)]]), current: 'a' },
  );
const SEALS = [sealOf(true), sealOf(false)] as const;
const seal = fc.constantFrom(...SEALS);
const sealedBody = (by: Seal, header: JobHeader, value: unknown, index: number, siblings: readonly Place[]) =>
  Buffer.concat(
    new SealedEnvelope(by, by.keyFor(TUBE)!, TUBE, header, encodePayload(value))
      .body(index, siblings)
      .map((part) => (typeof part === 'string' ? Buffer.from(part, 'latin1') : Buffer.from(part))),
  );

function expectUsable(header: CopyHeader): void {
  expect(isJobId(header.id)).toBe(true);
  for (const at of [header.due, header.generation, header.born]) {
    expect(Number.isNaN(new Date(at).getTime())).toBe(false);
  }
  expect(header.siblings.length).toBeLessThanOrEqual(100);
  expect(header.index).toBeLessThanOrEqual(30);
  for (const value of Object.values(header.headers ?? {})) expect(typeof value).toBe('string');
}

/** Reads a body in every way there is. */
function readAll(body: Buffer, by: Seal | undefined): void {
  const envelope = unwrap(body, TUBE, by);
  identify(body.toString('latin1'));
  const open = openHeaderOf(body);
  if (open) expectUsable(open);
  if (typeof envelope === 'string') {
    // oxlint-disable-next-line no-control-regex
    expect(envelope).not.toMatch(/[\0-\x1f\x7f-\x9f]/);
    expect(envelope.length).toBeLessThan(600);
    return;
  }
  expectUsable(envelope.header);
  const error = thrownBy(() => decodePayload(envelope.content));
  if (error !== undefined) expect(error).toMatchObject({ code: 'DQ_BAD_PAYLOAD' });
}

const plain = fc
  .tuple(job, payload, fc.nat({ max: 30 }), places)
  .map(([header, value, index, siblings]) =>
    copyBody(new JobEnvelope(header, encodePayload(value)), index, siblings).toString('latin1'),
  );
const sealed = fc.tuple(seal, job, payload, places).map(([by, header, value, siblings]) => ({
  by,
  body: sealedBody(by, header, value, 0, siblings).toString('latin1'),
}));
const goQueue = fc
  .tuple(fc.nat({ max: 4e12 }), payload)
  .map(([due, value]) =>
    Buffer.concat(
      new GoQueueEnvelope(due, 5, encodePayload(value), 3).body().map((part) => Buffer.from(part)),
    ).toString('latin1'),
  );

describe('a copy', () => {
  holds(
    'is read as it was written',
    fc.tuple(job, payload, fc.nat({ max: 30 }), places),
    ([header, value, index, l]) => {
      const body = copyBody(new JobEnvelope(header, encodePayload(value)), index, l);
      const envelope = unwrap(body, TUBE, undefined);
      if (typeof envelope === 'string') throw new Error(envelope);
      const { born = header.generation } = header;
      expect({ ...envelope.header }).toEqual({ ...header, born, index, siblings: l });
      expect(decodePayload(envelope.content)).toEqual(asStored(value));
    },
  );

  holds(
    'that is sealed is read as it was written',
    fc.tuple(seal, job, payload, places),
    ([by, header, value, l]) => {
      const envelope = unwrap(sealedBody(by, header, value, 0, l), TUBE, by);
      if (typeof envelope === 'string') throw new Error(envelope);
      const { born = header.generation } = header;
      const { groupId: _hash, ...read } = envelope.header;
      expect(read).toEqual({ ...header, born, index: 0, siblings: l });
      expect(decodePayload(envelope.content)).toEqual(asStored(value));
    },
  );

  holds(
    'of anybody is read, or refused with the reason',
    fc.tuple(
      fc.option(seal, { nil: undefined }),
      damaged(
        fc.oneof(
          plain,
          goQueue,
          sealed.map(({ body }) => body),
        ),
      ),
    ),
    ([by, body]) => readAll(Buffer.from(body, 'latin1'), by),
  );

  holds(
    'that was sealed and changed is never taken',
    sealed.chain(({ by, body }) => damaged(fc.constant(body)).map((changed) => ({ by, body, changed }))),
    ({ by, body, changed }) => {
      const envelope = unwrap(Buffer.from(changed, 'latin1'), TUBE, by);
      // Digits and a slash are a job of go-queue, which only its tubes take.
      if (changed === body || /^\d{1,20}\//.test(changed)) return;
      expect(typeof envelope).toBe('string');
    },
  );
});

const content = fc.record({
  tube: fc.constant(TUBE),
  id,
  key: fc.option(text, { nil: undefined }),
  born: time,
  due: time,
  copies: fc.nat({ max: 31 }),
  places,
});

describe('a reference', () => {
  holds('finds what it was made of', content, (of) => expect(parseRef(formatRef(of), '')).toEqual(of));

  holds('of anybody is taken, or refused in one way', damaged(content.map(formatRef)), (ref) => {
    const altered = `dq1.${Buffer.from(ref, 'latin1').toString('base64url')}`;
    for (const given of [
      ref,
      altered,
      { ref },
      { tube: ref, key: ref },
      { tube: 't', id: ref },
      { tube: 't', key: ref },
    ]) {
      const error = thrownBy(() => {
        const target = parseRef(given as never, 'p.');
        expect(new Date(target.due).getTime()).not.toBeNaN();
        expect(isJobId(target.id)).toBe(true);
      });
      if (error === undefined) continue;
      expect(error).toBeInstanceOf(DqError);
      expect(['DQ_BAD_REF', 'DQ_BAD_TUBE']).toContain((error as DqError).code);
      goQueueCopies(given as never);
    }
  });
});

describe('places', () => {
  holds('are read as they were written', places, (all) =>
    expect(parsePlaces(formatPlaces(all))).toEqual(all),
  );
  holds('of anybody are such places, or none', damaged(places.map(formatPlaces)), (all) => {
    for (const { index, location } of parsePlaces(all)) {
      expect(index).toBeLessThanOrEqual(30);
      parseLocation(location);
    }
    parseLocation(all);
  });
});

describe('a cursor', () => {
  const values = fc.tuple(fc.integer(), fc.string());
  holds('is read as it was written', values, ([due, of]) =>
    expect(parseCursor(formatCursor(due, of), 'it', ['number', 'string'])).toEqual([due, of]),
  );
  holds(
    'of anybody is taken, or refused in one way',
    damaged(values.map((all) => formatCursor(...all))),
    (cursor) => {
      const error = thrownBy(() => parseCursor(cursor, 'it', ['number', 'string']));
      if (error !== undefined) expect(error).toMatchObject({ code: 'DQ_BAD_OPTION' });
    },
  );
});
